// Files, and the names that they declare.
//
// A name's value is found when it is first needed. The user's imports are
// loaded with the file, so that a missing one is always reported; the library's
// are loaded when their name is used, which keeps small recipes fast.

#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <filesystem>

namespace recipec::sema {
namespace {

constexpr const char* libraryPrefix = "std/";
constexpr const char* extension = ".recipe";

/// The name that a declaration binds.
ast::Name nameOf(const ast::Declaration& declaration) {
  if (auto* import = std::get_if<ast::Import>(&declaration.node)) {
    if (import->alias)
      return *import->alias;
    if (!import->path.empty())
      return import->path.back();
    return {std::filesystem::path(import->file).stem().string(),
            import->targetRange};
  }
  if (auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node))
    return recipe->name;
  if (auto* mixin = std::get_if<ast::MixinDecl>(&declaration.node))
    return mixin->name;
  if (auto* schema = std::get_if<ast::SchemaDecl>(&declaration.node))
    return schema->name;
  if (auto* model = std::get_if<ast::ModelDecl>(&declaration.node))
    return model->name;
  if (auto* let = std::get_if<ast::Let>(&declaration.node))
    return let->name;
  if (auto* block = std::get_if<ast::BlockDecl>(&declaration.node))
    return block->name;
  return std::get<ast::FunDecl>(declaration.node).name;
}

/// The paths where an import may be, best first. `a.b` is `a/b.recipe`, or the
/// file of the folder's name in the folder `a/b`.
std::vector<std::string> pathsOf(const ast::Import& import,
                                 const std::string& importer) {
  std::filesystem::path folder = std::filesystem::path(importer).parent_path();
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

/// `std/models/llama.recipe` as an import names it: `std.models.llama`.
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

} // namespace

bool Evaluator::loadLibrary() {
  Loaded::State state;
  opsModule = loadModule("std/ops.recipe", state);
  preludeModule = loadModule("std/prelude.recipe", state);
  return opsModule && preludeModule;
}

Module* Evaluator::addModule(const ast::File& file, std::string path) {
  Module& module = make<Module>();
  module.path = std::move(path);
  module.file = &file;
  module.env.file = &file;
  module.env.module = &module;
  modules[module.path] = &module;
  for (const ast::Declaration& declaration : file.declarations) {
    ast::Name name = sema::nameOf(declaration);
    std::string_view key = make<ast::Name>(name).text;
    if (ModuleEntry* first = module.find(key)) {
      report(diag::Kind::DuplicateName, name.range,
             "`" + name.text + "` is declared twice")
          .label(first->nameRange, "it is declared here first");
      continue;
    }
    ModuleEntry entry;
    entry.declaration = &declaration;
    entry.nameRange = name.range;
    module.places[key] = module.entries.size();
    module.entries.emplace_back(key, std::move(entry));
  }
  loadImports(module);
  return &module;
}

void Evaluator::loadImports(Module& module) {
  if (module.path.starts_with(libraryPrefix))
    return;
  loading.push_back(&module);
  for (auto& [name, entry] : module.entries)
    if (std::holds_alternative<ast::Import>(entry.declaration->node))
      entryValue(module, entry);
  loading.pop_back();
}

Module* Evaluator::addOverrideModule(const ast::File& file, Module& base) {
  Module& module = make<Module>();
  module.path = base.path;
  module.file = &file;
  module.fallback = &base;
  module.env.file = &file;
  module.env.module = &module;
  return &module;
}

Module* Evaluator::loadModule(const std::string& path, Loaded::State& state) {
  state = Loaded::State::parsed;
  if (auto known = modules.find(path); known != modules.end())
    return known->second;
  Loaded loaded = loader.load(path);
  state = loaded.state;
  if (state != Loaded::State::parsed)
    return nullptr;
  return addModule(*loaded.file, path);
}

void Evaluator::reportImportNotFound(Module& module, const ast::Import& import,
                                     const std::vector<std::string>& tried) {
  bool isDotted = !import.path.empty();
  std::string written = isDotted ? pathText(import.path) : import.file;
  auto builder = report(diag::Kind::ImportNotFound, import.targetRange,
                        "there is no `" + written + "` to import");
  if (isDotted && import.path.front().text == "std") {
    std::vector<std::string> names;
    for (std::string& path : loader.standardFiles())
      names.push_back(importNameOf(std::move(path)));
    if (auto near = diag::didYouMean(written, names)) {
      builder.suggest(import.targetRange, written, names);
      module.missing.push_back(near->substr(near->rfind('.') + 1));
    }
    return;
  }
  builder.note("looked for `" + tried.front() + "`");
  builder.help("imports are relative to the importing file; the standard "
               "library begins with `std.`");
}

void Evaluator::reportImportCycle(const ast::Import& import,
                                  const Module& target) {
  auto builder = report(diag::Kind::ImportCycle, import.targetRange,
                        "`" + target.path + "` imports itself");
  auto first = std::find(loading.begin(), loading.end(), &target);
  std::string chain;
  for (auto at = first; at != loading.end(); ++at)
    chain += "`" + (*at)->path + "` imports ";
  builder.note(chain + "`" + target.path + "`");
  builder.help("move what both need into a file of its own");
}

Value Evaluator::importValue(Module& module, const ast::Import& import) {
  std::vector<std::string> paths = pathsOf(import, module.path);
  for (const std::string& path : paths) {
    if (auto known = modules.find(path);
        known != modules.end() && std::find(loading.begin(), loading.end(),
                                            known->second) != loading.end()) {
      reportImportCycle(import, *known->second);
      return poison();
    }
    Loaded::State state;
    if (Module* target = loadModule(path, state))
      return {target, writtenAt(import.targetRange)};
    if (state == Loaded::State::broken)
      return poison();
  }
  reportImportNotFound(module, import, paths);
  return poison();
}

Value Evaluator::recipeValue(Module& module,
                             const ast::RecipeDecl& declaration) {
  std::vector<const Layer*> layers;
  const Schema* schema = nullptr;
  if (declaration.parent == ast::ExprId::none) {
    Loaded::State state;
    Module* settings = loadModule("std/schema/recipe.recipe", state);
    ModuleEntry* entry = settings ? settings->find("recipe") : nullptr;
    if (!entry)
      return poison();
    schema = *entryValue(*settings, *entry).get<const Schema*>();
  } else {
    Value parent = evaluate(declaration.parent, module.env);
    if (parent.isPoison())
      return poison();
    Object* const* object = parent.get<Object*>();
    if (!object || !(*object)->schema || (*object)->schema->name != "recipe") {
      report(diag::Kind::WrongType, (*module.file)[declaration.parent].range,
             "a recipe amends a recipe, and this is of type `" +
                 typeNameOf(parent) + "`");
      return poison();
    }
    schema = (*object)->schema;
    layers = (*object)->layers;
  }
  Value name{declaration.name.text, writtenAt(declaration.name.range)};
  layers.push_back(givenLayer("name", name));
  layers.push_back(bodyLayer(module.env, declaration.body, true));
  Object* object = makeObject(schema, layers, declaration.name.range);
  return {object, writtenAt(declaration.name.range)};
}

Value Evaluator::evaluateEntry(Module& module, ModuleEntry& entry) {
  const auto& node = entry.declaration->node;
  recipe::Origin origin = writtenAt(entry.nameRange);
  if (auto* import = std::get_if<ast::Import>(&node))
    return importValue(module, *import);
  if (auto* let = std::get_if<ast::Let>(&node))
    return evaluate(let->value, module.env);
  if (auto* schema = std::get_if<ast::SchemaDecl>(&node))
    return {makeSchema(module, schema->name, schema->body, false), origin};
  if (auto* model = std::get_if<ast::ModelDecl>(&node))
    return {makeSchema(module, model->name, model->body, true), origin};
  if (auto* recipe = std::get_if<ast::RecipeDecl>(&node))
    return recipeValue(module, *recipe);
  if (auto* function = std::get_if<ast::FunDecl>(&node))
    return {&std::as_const(make<Function>({function, &module.env})), origin};
  auto& block = std::get<ast::BlockDecl>(node);
  return {&std::as_const(make<Block>({&block, &module.env})), origin};
}

const Value& Evaluator::entryValue(Module& module, ModuleEntry& entry) {
  if (entry.state == ModuleEntry::State::done)
    return entry.value;
  if (entry.state == ModuleEntry::State::running) {
    auto first = std::find_if(
        runningEntries.begin(), runningEntries.end(),
        [&](const auto& running) { return running.second == &entry; });
    std::vector<CycleLink> links;
    for (auto at = first; at < runningEntries.end(); ++at)
      links.push_back({std::string(sources.text(at->second->nameRange)),
                       at->second->nameRange});
    reportRecursion(links);
    entry.value = poison();
    return entry.value;
  }
  entry.state = ModuleEntry::State::running;
  runningEntries.emplace_back(&module, &entry);
  DepthGuard guard(*this);
  Value value =
      takeStep(entry.nameRange) ? evaluateEntry(module, entry) : poison();
  runningEntries.pop_back();
  entry.value = std::move(value);
  entry.state = ModuleEntry::State::done;
  return entry.value;
}

void Evaluator::checkDeclarations(Module& module) {
  for (auto& [name, entry] : module.entries) {
    const auto& node = entry.declaration->node;
    bool isRecipe = std::holds_alternative<ast::RecipeDecl>(node);
    if (isRecipe || std::holds_alternative<ast::Import>(node))
      continue;
    const Schema* const* schema =
        entryValue(module, entry).get<const Schema*>();
    // A name for the schema of another file is checked there.
    if (!schema || (*schema)->file != module.file)
      continue;
    for (const Field& field : (*schema)->fields)
      resolve(module.env, field.declaration->type);
  }
}

} // namespace recipec::sema
