// Recipes: the layers of what they amend, of their mixins, of their own braces
// and of what overrides set, in this order. The last that sets a field wins.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Analyze.h"

#include <cassert>

namespace recipec::sema {

const Schema* Evaluator::recipeSchema() {
  if (recipeDeclaration)
    return recipeDeclaration;
  Module* settings = modules.load("std/schema/recipe.recipe");
  ModuleEntry* entry = settings ? settings->find("recipe") : nullptr;
  if (!entry)
    return nullptr;
  if (auto* schema = modules.entryValue(*settings, *entry).get<const Schema*>())
    recipeDeclaration = *schema;
  return recipeDeclaration;
}

const Object* Evaluator::parentOf(Module& module,
                                  const ast::RecipeDecl& declaration) {
  Value parent = evaluate(declaration.parent, module.env);
  if (parent.isPoison())
    return nullptr;
  Object* const* object = parent.get<Object*>();
  if (object && (*object)->schema == recipeSchema())
    return *object;
  messages
      .report(diag::Kind::WrongType, (*module.file)[declaration.parent].range,
              "a recipe amends a recipe, and this is of type `" +
                  typeNameOf(parent) + "`")
      .help("write the name of a recipe behind `amends`");
  return nullptr;
}

Value Evaluator::recipeValue(Module& module,
                             const ast::RecipeDecl& declaration) {
  const Schema* schema = recipeSchema();
  if (!schema)
    return poison();
  std::vector<const Layer*> layers;
  if (declaration.parent != ast::ExprId::none) {
    const Object* parent = parentOf(module, declaration);
    if (!parent)
      return poison();
    layers = parent->layers;
  }
  for (ast::ExprId id : declaration.mixins) {
    const Layer* layer = mixinLayer(module, id);
    if (!layer)
      return poison();
    layers.push_back(layer);
  }
  Value name{declaration.name.text, writtenAt(declaration.name.range)};
  layers.push_back(givenLayer("name", name));
  layers.push_back(bodyLayer(module.env, declaration.body, true));
  Object* object =
      makeObject(schema, std::move(layers), declaration.name.range);
  return {object, writtenAt(declaration.name.range)};
}

// ---- mixins

const Layer* Evaluator::mixinLayer(Module& module, ast::ExprId id) {
  Value value = evaluate(id, module.env);
  SourceRange range = (*module.file)[id].range;
  if (value.isPoison())
    return nullptr;
  const Mixin* const* mixin = value.get<const Mixin*>();
  if (!mixin) {
    messages
        .report(diag::Kind::WrongType, range,
                "`with` takes mixins, and this is of type `" +
                    typeNameOf(value) + "`")
        .help("write the name of a mixin behind `with`; settings stand in the "
              "braces");
    return nullptr;
  }
  if (!(*mixin)->arguments) { // named without parentheses
    value = callMixin(**mixin, ast::Call{id, {}}, range, module.env);
    mixin = value.get<const Mixin*>();
  }
  return mixin ? layerOf(**mixin, (*mixin)->arguments) : nullptr;
}

Value Evaluator::callMixin(const Mixin& mixin, const ast::Call& node,
                           SourceRange range, const Env& env) {
  const ast::MixinDecl& declaration = *mixin.declaration;
  if (mixin.arguments) {
    messages.report(diag::Kind::WrongType, range,
                    "`" + declaration.name.text +
                        "` has its arguments already");
    return poison();
  }
  Type any = Type::plain(Type::Kind::any);
  auto bound = bind(parametersOf(declaration.parameters, mixin.env), node,
                    range, env, declaration.name.text, nullptr, &any);
  if (!bound)
    return poison();
  Locals& arguments = store.make<Locals>();
  for (size_t i = 0; i < bound->size(); ++i)
    arguments.names.emplace_back(declaration.parameters[i].name.text,
                                 *(*bound)[i].value);
  return {
      &std::as_const(store.make<Mixin>({&declaration, mixin.env, &arguments})),
      writtenAt(range)};
}

const Layer* Evaluator::layerOf(const Mixin& mixin, Locals* arguments) {
  Layer& layer =
      store.make<Layer>(*bodyLayer(*mixin.env, mixin.declaration->body, true));
  layer.locals = arguments;
  return &layer;
}

Object* Evaluator::settingsOf(const Mixin& mixin) {
  const Schema* schema = recipeSchema();
  if (!schema)
    return nullptr;
  Locals& arguments = store.make<Locals>();
  for (const ast::Parameter& parameter : mixin.declaration->parameters)
    arguments.names.emplace_back(parameter.name.text, poison());
  return makeObject(schema, {layerOf(mixin, &arguments)},
                    mixin.declaration->name.range);
}

// ---- overrides

const Layer* Evaluator::overrideLayer(const Override& override,
                                      Module& module) {
  Module* names = modules.addOverride(*override.file, module);
  Layer& layer = store.make<Layer>();
  layer.env = &names->env;
  layer.isScope = true;
  Member member;
  member.path = override.path;
  member.value = override.value;
  member.range = cover(override.path.front().range,
                       (*override.file)[override.value].range);
  layer.range = member.range;
  layer.members.push_back(member);
  return &layer;
}

Object* Evaluator::withOverrides(const Object& settings, Module& module,
                                 const std::vector<Override>& overrides) {
  std::vector<const Layer*> layers = settings.layers;
  for (const Override& override : overrides)
    layers.push_back(overrideLayer(override, module));
  return makeObject(settings.schema, std::move(layers), settings.range);
}

const Layer* Evaluator::layerOf(const LibraryMixin& named) {
  Module* module = modules.load(named.file);
  assert(module && "the standard library lacks a file");
  ModuleEntry* entry = module->find(named.name);
  assert(entry && "the standard library lacks a mixin");
  const Mixin* const* mixin =
      modules.entryValue(*module, *entry).get<const Mixin*>();
  assert(mixin && "what is applied is no mixin");
  return layerOf(**mixin, &store.make<Locals>());
}

Object* Evaluator::withChanges(const Object& settings, Module& module,
                               const Changes& changes) {
  std::vector<const Layer*> layers = settings.layers;
  if (!changes.mixin.name.empty())
    layers.push_back(layerOf(changes.mixin));
  for (const Override& override : changes.overrides)
    layers.push_back(overrideLayer(override, module));
  return makeObject(settings.schema, std::move(layers), settings.range);
}

Object* Evaluator::settingsOf(const ast::RecipeDecl& recipe, Module& module,
                              const std::vector<Override>& overrides) {
  ModuleEntry* entry = module.find(recipe.name.text);
  if (!entry) // a second declaration of the name, reported
    return nullptr;
  Object* const* object = modules.entryValue(module, *entry).get<Object*>();
  return object ? withOverrides(**object, module, overrides) : nullptr;
}

} // namespace recipec::sema
