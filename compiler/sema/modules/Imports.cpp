// The names that imports bind: a file, names that it declares, or the value of
// a data file.
//
// The user's imports are loaded with the file, so that a missing file is always
// reported. The library's imports are loaded when their name is used, which
// keeps small recipes fast. In both cases values are evaluated on first use.

#include "compiler/sema/modules/Modules.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace recipec::sema {
namespace {

constexpr const char* libraryPrefix = "std/";
constexpr const char* extension = ".recipe";
/// The maximum number of files that a help lists.
constexpr size_t mostListed = 20;

/// The paths where an import may be, best first. `a.b` is `a/b.recipe`, or the
/// file in the folder `a/b` that has the folder's name.
std::vector<std::string> pathsOf(const ast::Import& import,
                                 const std::string& importer) {
  std::filesystem::path folder = std::filesystem::path(importer).parent_path();
  if (import.path.empty() && import.file.starts_with(libraryPrefix))
    return {import.file};
  if (import.path.empty())
    return {(folder / import.file).lexically_normal().string()};
  std::string joined;
  for (const ast::Name& name : import.path)
    joined += (joined.empty() ? "" : "/") + name.text;
  bool isLibrary = import.path.front().text == "std";
  auto place = [&](const std::string& path) {
    return isLibrary ? path : (folder / path).lexically_normal().string();
  };
  const std::string& last = import.path.back().text;
  return {place(joined + extension), place(joined + "/" + last + extension)};
}

std::string pathText(const std::vector<ast::Name>& path) {
  std::string text;
  for (const ast::Name& name : path)
    text += (text.empty() ? "" : ".") + name.text;
  return text;
}

/// The import name of a file: `std.models.llama` for `std/models/llama.recipe`.
std::string importNameOf(std::string path) {
  path.resize(path.size() - std::string_view(extension).size());
  size_t slash = path.rfind('/');
  std::string stem = path.substr(slash + 1);
  std::string folder = path.substr(0, slash);
  bool namesFolder =
      folder.size() > stem.size() && folder.ends_with("/" + stem);
  std::string name = namesFolder ? folder : path;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// The name that the import of a file binds: the alias, or the file's own name.
ast::Name fileNameOf(const ast::Import& import) {
  if (import.alias)
    return *import.alias;
  if (!import.path.empty())
    return import.path.back();
  return {std::filesystem::path(import.file).stem().string(),
          import.targetRange};
}

bool isIdentifier(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

/// The identifier nearest to a file's name: `run_a` for `run-a`.
std::string identifierFor(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  const bool isDigit =
      text.empty() || std::isdigit(static_cast<unsigned char>(text[0]));
  return isDigit ? "data_" + text : text;
}

} // namespace

// ---- declaring

void Modules::declareImport(Module& module, const ast::Declaration& declaration,
                            const ast::Import& import) {
  if (import.alias || !import.selection) {
    ast::Name name = fileNameOf(import);
    declare(module, declaration, name, nullptr);
    if (!isIdentifier(name.text)) {
      // Do not report uses of the name that this help proposes.
      module.missing.push_back(identifierFor(name.text));
      evaluator.messages
          .report(diag::Kind::ExpectedName, import.targetRange,
                  "`" + name.text + "` is no name that an expression could use")
          .help("give it one: `import \"" + import.file + "\" as " +
                identifierFor(name.text) + "`");
    }
  }
  if (!import.selection)
    return;
  for (const ast::Selected& selected : *import.selection)
    declare(module, declaration,
            selected.alias ? *selected.alias : selected.name, &selected);
}

void Modules::loadImports(Module& module) {
  if (module.path.starts_with(libraryPrefix))
    return;
  loading.push_back({&module, nullptr});
  for (auto& [name, entry] : module.entries) {
    auto* import = std::get_if<ast::Import>(&entry.declaration->node);
    if (!import)
      continue;
    loading.back().import = import;
    Module* const* file = nullptr;
    if (entry.selected)
      file = importTarget(module, *import).get<Module*>();
    if (file)
      selectedEntry(**file, *entry.selected); // evaluated on first use
    else
      entryValue(module, entry);
  }
  loading.pop_back();
}

// ---- finding

void Modules::reportImportNotFound(Module& module, const ast::Import& import,
                                   const std::vector<std::string>& tried) {
  bool isDotted = !import.path.empty();
  std::string written = isDotted ? pathText(import.path) : import.file;
  auto builder =
      evaluator.messages.report(diag::Kind::ImportNotFound, import.targetRange,
                                "there is no `" + written + "` to import");
  if (isDotted && import.path.front().text == "std") {
    std::vector<std::string> names;
    for (std::string& path : loader.standardFiles())
      names.push_back(importNameOf(std::move(path)));
    std::vector<std::string> inside;
    for (const std::string& name : names)
      if (name.starts_with(written + "."))
        inside.push_back(name);
    if (!inside.empty()) {
      builder.help("that is a folder; import one of its files: " +
                   diag::quotedList(inside, inside.size()));
      module.missing.push_back(import.path.back().text);
      return;
    }
    // `std.models.llama.llama3_8b`: a name of a file.
    const std::string file = written.substr(0, written.rfind('.'));
    const std::string last = import.path.back().text;
    if (std::find(names.begin(), names.end(), file) != names.end()) {
      builder
          .help("names of a file stand in braces: write `import " + file +
                " { " + last + " }`, or `import " + file + "` and `" +
                file.substr(file.rfind('.') + 1) + "." + last + "`")
          .fixIt(import.targetRange, file);
      module.missing.push_back(last);
      module.missing.push_back(file.substr(file.rfind('.') + 1));
      return;
    }
    if (auto near = diag::didYouMean(written, names)) {
      builder.suggest(import.targetRange, written, names);
      module.missing.push_back(near->substr(near->rfind('.') + 1));
      return;
    }
    module.missing.push_back(import.path.back().text);
    const std::string folder = written.substr(0, written.rfind('.') + 1);
    std::erase_if(names, [&](const std::string& name) {
      return !name.starts_with(folder);
    });
    builder.help(names.empty()
                     ? "`recipec doc std` lists the files of the library"
                     : "the library has " +
                           diag::quotedList(names, mostListed) + " there");
    return;
  }
  builder.note("looked for `" + tried.front() + "`");
  // `base.recipe` without quotation marks
  const std::string quoted = "\"" + written + "\"";
  if (isDotted && (written.ends_with(extension) || written.ends_with(".yaml") ||
                   written.ends_with(".yml") || written.ends_with(".json"))) {
    module.missing.push_back(import.path.back().text);
    builder
        .help("a path with an ending stands in quotation marks: write `" +
              quoted + "`")
        .fixIt(import.targetRange, quoted);
    builder.otherwise("imports are relative to the importing file; the "
                      "standard library begins with `std.`");
    return;
  }
  // `llama` or `models.llama` for `std.models.llama`
  if (isDotted)
    for (const std::string& path : loader.standardFiles())
      if (std::string name = importNameOf(path);
          name.ends_with("." + written)) {
        module.missing.push_back(import.path.back().text);
        builder.help("write `import " + name + "`")
            .fixIt(import.targetRange, name);
        return;
      }
  builder.help("imports are relative to the importing file; the standard "
               "library begins with `std.`");
}

void Modules::reportImportCycle(const ast::Import& import,
                                const Module& target) {
  auto builder =
      evaluator.messages.report(diag::Kind::ImportCycle, import.targetRange,
                                "`" + target.path + "` imports itself");
  auto first =
      std::find_if(loading.begin(), loading.end(),
                   [&](const Loading& each) { return each.module == &target; });
  for (auto at = first; at != loading.end() && at->import != &import; ++at)
    builder.label(
        at->import->targetRange,
        "`" + at->module->path + "` imports `" +
            (at + 1 == loading.end() ? target.path : (at + 1)->module->path) +
            "`");
  builder.help("move what both need into a file of its own");
}

const Value& Modules::importTarget(Module& module, const ast::Import& import) {
  auto known = importTargets.find(&import);
  if (known == importTargets.end())
    known = importTargets.emplace(&import, findImport(module, import)).first;
  return known->second;
}

const Value* Modules::targetOf(const ast::Import& import) const {
  auto known = importTargets.find(&import);
  return known == importTargets.end() ? nullptr : &known->second;
}

/// Reports an import of a file that is neither a recipe nor data.
bool Modules::reportFormat(const ast::Import& import) {
  if (import.file.empty())
    return false;
  const std::filesystem::path path(import.file);
  const std::string ending = path.extension().string();
  for (std::string_view known : {"", ".recipe", ".yaml", ".yml", ".json"})
    if (ending == known)
      return false;
  const std::string name = path.filename().string();
  evaluator.messages
      .report(diag::Kind::ImportNotFound, import.targetRange,
              "`" + name +
                  "` is no file to import: an import takes `.recipe`, "
                  "`.yaml`, `.yml` and `.json`")
      .help("write its values to `" + path.stem().string() + ".yaml`");
  return true;
}

Value Modules::findImport(Module& module, const ast::Import& import) {
  if (reportFormat(import))
    return poison();
  std::vector<std::string> paths = pathsOf(import, module.path);
  for (const std::string& path : paths) {
    auto known = byPath.find(path);
    bool isLoading =
        known != byPath.end() &&
        std::any_of(loading.begin(), loading.end(), [&](const Loading& each) {
          return each.module == known->second;
        });
    if (isLoading) {
      reportImportCycle(import, *known->second);
      return poison();
    }
    Loaded::State state;
    if (Module* target = load(path, state)) {
      if (!evaluator.isData(target->file->source))
        return {target, evaluator.writtenAt(import.targetRange)};
      return entryValue(*target, target->entries.front().second);
    }
    if (state == Loaded::State::broken) {
      isImportBroken = true;
      return poison();
    }
  }
  reportImportNotFound(module, import, paths);
  return poison();
}

ModuleEntry* Modules::selectedEntry(Module& target,
                                    const ast::Selected& selected) {
  const ast::Name& name = selected.name;
  if (ModuleEntry* entry = target.find(name.text))
    return entry;
  std::vector<std::string> names;
  for (const auto& [other, entry] : target.entries)
    if (!std::holds_alternative<ast::Import>(entry.declaration->node))
      names.emplace_back(other);
  evaluator.messages
      .report(diag::Kind::UnknownName, name.range,
              "`" + target.path + "` declares no `" + name.text + "`")
      .suggestOrList(name.range, name.text, names, "its names are ");
  return nullptr;
}

Value Modules::selectedValue(Module& module, const ast::Import& import,
                             const ast::Selected& selected) {
  const Value& target = importTarget(module, import);
  if (target.isPoison())
    return poison();
  Module* const* file = target.get<Module*>();
  if (!file) // the value of a data file
    return evaluator.lookup.memberOf(target, selected.name,
                                     selected.name.range);
  ModuleEntry* entry = selectedEntry(**file, selected);
  return entry ? entryValue(**file, *entry) : poison();
}

} // namespace recipec::sema
