// Finds declarations of the library by names that a file cannot see:
// `llama3_8b` without its import, `"meta-llama/Meta-Llama-3-8B"`, `sgd`.

#include "compiler/sema/names/LibraryNames.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/OtherNames.h"
#include "compiler/sema/types/Quotation.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace recipec::sema {
namespace {

constexpr std::string_view libraryFolder = "std/";

/// Lower-case letters and digits of the text after the last slash.
std::string plain(std::string_view name) {
  std::string text;
  for (unsigned char c : name.substr(name.rfind('/') + 1))
    if (std::isalnum(c))
      text += char(std::tolower(c));
  return text;
}

/// The import name of a file: `std.models.llama` for `std/models/llama.recipe`.
std::string importOf(std::string path) {
  path.resize(path.rfind('.'));
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

const ast::Name* declaredName(const ast::Declaration& declaration) {
  if (auto* let = std::get_if<ast::Let>(&declaration.node))
    return &let->name;
  if (auto* model = std::get_if<ast::ModelDecl>(&declaration.node))
    return &model->name;
  if (auto* schema = std::get_if<ast::SchemaDecl>(&declaration.node))
    return &schema->name;
  return nullptr;
}

/// The name that the file binds to an imported file; empty when the file does
/// not import it as a whole.
std::string boundName(const Module& module, const std::string& import) {
  for (const auto& [name, entry] : module.entries) {
    auto* node = std::get_if<ast::Import>(&entry.declaration->node);
    if (!node || entry.selected)
      continue;
    std::string path;
    for (const ast::Name& part : node->path)
      path += (path.empty() ? "" : ".") + part.text;
    if (path == import)
      return std::string(name);
  }
  return {};
}

/// Inserts an import before the first import, or at the top.
diag::FixIt addImport(const ast::File& file, const std::string& import) {
  SourceRange place{file.source, 0, 0};
  std::string text = "import " + import + "\n";
  for (const ast::Declaration& declaration : file.declarations)
    if (std::holds_alternative<ast::Import>(declaration.node)) {
      place.begin = place.end = declaration.range.begin;
      return {place, text, diag::Applicability::safe};
    }
  return {place, text + "\n", diag::Applicability::safe};
}

} // namespace

std::optional<LibraryName>
LibraryNames::find(std::string_view name, const Module& module, bool isModel) {
  std::string wanted = plain(name);
  // Shorter names would match almost anything.
  if (wanted.size() < 4)
    return std::nullopt;
  std::string import, found;
  for (const std::string& path : evaluator.loader.standardFiles()) {
    bool isOfModels = path.starts_with("std/models/");
    bool isOffered =
        isOfModels || (!isModel && (path.starts_with("std/adapters/") ||
                                    path.starts_with("std/schedules/")));
    const ast::File* file =
        isOffered ? evaluator.loader.load(path).file : nullptr;
    if (!file)
      continue;
    for (const ast::Declaration& declaration : file->declarations) {
      const ast::Name* own = declaredName(declaration);
      std::string known = own ? plain(own->text) : "";
      // `Meta-Llama-3-8B` and `Qwen2.5-7B-Instruct` contain a known name.
      bool isMeant =
          wanted == known ||
          (isModel && known.size() > 4 && std::isalpha(known.back()) &&
           wanted.find(known) != std::string::npos);
      if (isMeant && known.size() > plain(found).size()) {
        found = own->text;
        import = importOf(path);
      }
    }
  }
  if (found.empty())
    return std::nullopt;
  const Module* at = &module;
  while (at->fallback) // an override's module has no imports
    at = at->fallback;
  std::string bound = boundName(*at, import);
  if (!bound.empty())
    return LibraryName{bound + "." + found, "", std::nullopt};
  return LibraryName{import.substr(import.rfind('.') + 1) + "." + found, import,
                     addImport(*at->file, import)};
}

std::optional<KnownDeclaration> LibraryNames::knownAs(std::string_view name) {
  for (const std::string& path : evaluator.loader.standardFiles()) {
    const ast::File* file = path.starts_with(libraryFolder)
                                ? evaluator.loader.load(path).file
                                : nullptr;
    if (!file)
      continue;
    for (const ast::Declaration& declaration : file->declarations) {
      const ast::Name* own = declaredName(declaration);
      bool isSeen = own && evaluator.modules.prelude() &&
                    evaluator.modules.prelude()->find(own->text);
      auto values =
          isSeen ? listedAs(declaration.comments, name) : std::nullopt;
      if (values)
        return KnownDeclaration{own->text, *values};
    }
  }
  return std::nullopt;
}

std::string LibraryNames::aliasOf(const std::string& import,
                                  const Module& module) const {
  const Module* at = &module;
  while (at->fallback) // an override's module has no imports
    at = at->fallback;
  return boundName(*at, import);
}

std::vector<std::string> LibraryNames::recordsOf(const Schema& schema) {
  std::vector<std::string> names;
  if (!evaluator.modules.prelude())
    return names;
  for (auto& [name, entry] : evaluator.modules.prelude()->entries) {
    const Value& value =
        evaluator.modules.entryValue(*evaluator.modules.prelude(), entry);
    Object* const* object = value.get<Object*>();
    if (object && (*object)->schema == &schema)
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The digits of a name. They distinguish `v100` from `h200`.
static std::string digitsOf(std::string_view name) {
  std::string digits;
  std::copy_if(name.begin(), name.end(), std::back_inserter(digits),
               [](unsigned char c) { return std::isdigit(c); });
  return digits;
}

/// The parts of a name between separators, in lower case.
static std::vector<std::string> partsBetween(std::string_view name,
                                             char separator) {
  std::vector<std::string> parts(1);
  for (unsigned char c : name)
    if (char(c) == separator)
      parts.emplace_back();
    else
      parts.back() += char(std::tolower(c));
  return parts;
}

/// Helps with an unknown device such as `v100`, which is not a misspelt `a100`:
/// lists the named records of the type, and shows how to describe another
/// device.
bool LibraryNames::helpWithRecord(diag::Builder& builder, const ast::Name& name,
                                  const Type& type) {
  if (type.kind != Type::Kind::schema)
    return false;
  const std::vector<std::string> names = recordsOf(*type.schema);
  if (names.size() < 2)
    return false;
  // `h100_80gb`, `nvidia_h100`: one part of the name is a device.
  for (const std::string& word : partsBetween(name.text, '_'))
    if (std::find(names.begin(), names.end(), word) != names.end()) {
      builder.help("write `" + word + "`").fixIt(name.range, word);
      return true;
    }
  const auto near = diag::didYouMean(name.text, names);
  const bool isSlip =
      near && digitsOf(*near) == digitsOf(name.text) &&
      (plain(*near) == plain(name.text) || plain(name.text)[0] == (*near)[0]);
  if (isSlip)
    return false;
  // A kind of device that the comments say is not supported.
  for (const Field& field : type.schema->fields)
    if (const ast::Comments* comments =
            commentsOf(*type.schema, field.declaration->name.text))
      if (std::string why = whyNoValue(*comments, "\"" + name.text + "\"");
          !why.empty()) {
        builder.help(std::move(why));
        return true;
      }
  constexpr size_t mostListed = 12;
  std::string help = "the library has " + diag::quotedList(names, mostListed);
  if (!digitsOf(name.text).empty()) // names a product, unlike `gpu`
    help += "; another one is described by amending one of them: `" +
            near.value_or(names.front()) + " { name = \"" + name.text +
            "\", ... }`";
  builder.help(help);
  return true;
}

std::optional<Suggestion> LibraryNames::modelNamed(const Value& value,
                                                   const Type& type,
                                                   SourceRange range) {
  const std::string* text = value.get<std::string>();
  const Module* module = evaluator.modules.find(range.source);
  if (!text || !module || type.kind != Type::Kind::model)
    return std::nullopt;
  auto known = find(*text, *module, true);
  if (!known)
    return std::nullopt;
  return Suggestion{"write `" + known->text + "`" +
                        (known->import.empty()
                             ? ""
                             : ", with `import " + known->import +
                                   "` at the top of the file"),
                    known->text, known->added};
}

} // namespace recipec::sema
