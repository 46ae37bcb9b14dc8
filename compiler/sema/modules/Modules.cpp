// Files, and the names that they declare.
//
// A name's value is evaluated on first use. Imports.cpp handles imports.

#include "compiler/sema/modules/Modules.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// The name that a declaration binds. An import may bind several.
const ast::Name& nameOf(const ast::Declaration& declaration) {
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

} // namespace

bool Modules::loadLibrary() {
  opsModule = load("std/ops.recipe");
  preludeModule = load("std/prelude.recipe");
  return opsModule && preludeModule;
}

std::string_view Modules::aliasInPrelude(const Module& module,
                                         std::string_view name) const {
  if (!preludeModule)
    return {};
  for (const auto& [own, entry] : preludeModule->entries) {
    const auto* import = std::get_if<ast::Import>(&entry.declaration->node);
    if (!import || !entry.selected || !entry.selected->alias ||
        entry.selected->name.text != name)
      continue;
    std::string path;
    for (const ast::Name& part : import->path)
      path += (path.empty() ? "" : "/") + part.text;
    if (path + ".recipe" == module.path)
      return own;
  }
  return {};
}

Module* Modules::open(const ast::File& file) {
  if (loadLibrary())
    return add(file, std::string(evaluator.sources.name(file.source)));
  evaluator.messages.report(diag::Kind::ImportNotFound, {file.source, 0, 0},
                            "the standard library is not there, or broken");
  return nullptr;
}

Module* Modules::add(const ast::File& file, std::string path) {
  Module& module = evaluator.store.make<Module>();
  module.path = std::move(path);
  module.file = &file;
  module.env.file = &file;
  module.env.module = &module;
  byPath[module.path] = &module;
  for (const ast::Declaration& declaration : file.declarations) {
    if (auto* import = std::get_if<ast::Import>(&declaration.node))
      declareImport(module, declaration, *import);
    else
      declare(module, declaration, nameOf(declaration), nullptr);
  }
  loadImports(module);
  return &module;
}

void Modules::declare(Module& module, const ast::Declaration& declaration,
                      const ast::Name& name, const ast::Selected* selected) {
  std::string_view key = evaluator.store.make<ast::Name>(name).text;
  if (ModuleEntry* first = module.find(key)) {
    evaluator.messages
        .report(diag::Kind::DuplicateName, name.range,
                "`" + name.text + "` is declared twice")
        .label(first->nameRange, "it is declared here first")
        .help("give one of the two another name");
    return;
  }
  ModuleEntry entry;
  entry.declaration = &declaration;
  entry.selected = selected;
  entry.nameRange = name.range;
  module.places[key] = module.entries.size();
  module.entries.emplace_back(key, std::move(entry));
}

Module* Modules::addOverride(const ast::File& file, Module& base) {
  Module& module = evaluator.store.make<Module>();
  module.path = base.path;
  module.file = &file;
  module.fallback = &base;
  module.env.file = &file;
  module.env.module = &module;
  return &module;
}

Module* Modules::load(const std::string& path) {
  Loaded::State state;
  return load(path, state);
}

Module* Modules::load(const std::string& path, Loaded::State& state) {
  state = Loaded::State::parsed;
  if (auto known = byPath.find(path); known != byPath.end())
    return known->second;
  Loaded loaded = loader.load(path);
  state = loaded.state;
  if (state != Loaded::State::parsed)
    return nullptr;
  return add(*loaded.file, path);
}

Value Modules::evaluateEntry(Module& module, ModuleEntry& entry) {
  const auto& node = entry.declaration->node;
  recipe::Origin origin = evaluator.writtenAt(entry.nameRange);
  if (auto* import = std::get_if<ast::Import>(&node))
    return entry.selected ? selectedValue(module, *import, *entry.selected)
                          : importTarget(module, *import);
  if (auto* let = std::get_if<ast::Let>(&node))
    return evaluator.evaluate(let->value, module.env);
  if (auto* schema = std::get_if<ast::SchemaDecl>(&node))
    return {
        evaluator.layers.makeSchema(module, schema->name, schema->body, false),
        origin};
  if (auto* model = std::get_if<ast::ModelDecl>(&node))
    return {evaluator.layers.makeSchema(module, model->name, model->body, true),
            origin};
  if (auto* recipe = std::get_if<ast::RecipeDecl>(&node))
    return evaluator.recipes.valueOf(module, *recipe);
  if (auto* mixin = std::get_if<ast::MixinDecl>(&node))
    return {&std::as_const(evaluator.store.make<Mixin>({mixin, &module.env})),
            origin};
  if (auto* function = std::get_if<ast::FunDecl>(&node))
    return {
        &std::as_const(evaluator.store.make<Function>({function, &module.env})),
        origin};
  auto& block = std::get<ast::BlockDecl>(node);
  return {&std::as_const(evaluator.store.make<Block>({&block, &module.env})),
          origin};
}

const Value& Modules::entryValue(Module& module, ModuleEntry& entry) {
  if (entry.state == ModuleEntry::State::done)
    return entry.value;
  if (entry.state == ModuleEntry::State::running) {
    auto first =
        std::find_if(running.begin(), running.end(),
                     [&](const auto& each) { return each.second == &entry; });
    std::vector<CycleLink> links;
    for (auto at = first; at < running.end(); ++at)
      links.push_back(
          {std::string(evaluator.sources.text(at->second->nameRange)),
           at->second->nameRange});
    const bool isRecipe =
        std::holds_alternative<ast::RecipeDecl>(entry.declaration->node);
    const std::string& name = links.front().name;
    evaluator.messages.reportRecursion(links).help(
        isRecipe
            ? "a recipe amends another: leave `amends` out, or give one of "
              "the two another name"
        : links.size() == 1
            ? "compute `" + name + "` without `" + name +
                  "`; another value needs another name"
            : "give `" + name + "` or `" + links[1].name +
                  "` a value that is computed without the other");
    entry.value = poison();
    return entry.value;
  }
  entry.state = ModuleEntry::State::running;
  running.emplace_back(&module, &entry);
  Limits::Level level(evaluator.limits);
  Value value = evaluator.limits.takeStep(entry.nameRange)
                    ? evaluateEntry(module, entry)
                    : poison();
  running.pop_back();
  entry.value = std::move(value);
  entry.state = ModuleEntry::State::done;
  return entry.value;
}

Module* Modules::find(SourceId source) const {
  for (const auto& [path, module] : byPath)
    if (module->file->source == source)
      return module;
  return nullptr;
}

void Modules::labelChain(diag::Builder& builder, size_t most) const {
  size_t first = running.size() - std::min(running.size(), most);
  for (size_t i = first; i < running.size(); ++i) {
    SourceRange name = running[i].second->nameRange;
    builder.label(name, "through `" +
                            std::string(evaluator.sources.text(name)) + "`");
  }
}

void Modules::checkDeclarations(Module& module) {
  for (auto& [name, entry] : module.entries) {
    const auto& node = entry.declaration->node;
    bool isRecipe = std::holds_alternative<ast::RecipeDecl>(node);
    if (isRecipe || std::holds_alternative<ast::Import>(node))
      continue;
    const Schema* const* schema =
        entryValue(module, entry).get<const Schema*>();
    // The schema of another file is checked with that file.
    if (!schema || (*schema)->file != module.file)
      continue;
    for (const Field& field : (*schema)->fields)
      evaluator.types.resolve(module.env, field.declaration->type);
  }
}

} // namespace recipec::sema
