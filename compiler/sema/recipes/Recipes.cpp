// Recipes, mixins and overrides as layers; see Recipes.h.

#include "compiler/sema/recipes/Recipes.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Analyze.h"

#include <cassert>
#include <filesystem>

namespace recipec::sema {

const Schema* Recipes::schema() {
  if (declaration)
    return declaration;
  Module* settings = evaluator.modules.load("std/schema/recipe.recipe");
  ModuleEntry* entry = settings ? settings->find("recipe") : nullptr;
  if (!entry)
    return nullptr;
  if (auto* schema =
          evaluator.modules.entryValue(*settings, *entry).get<const Schema*>())
    declaration = *schema;
  return declaration;
}

/// The recipes of the file that `amends "base.recipe"` names.
std::vector<std::string> Recipes::recipesIn(const Module& module,
                                            const std::string& path) {
  const Module* file = evaluator.modules.load(
      (std::filesystem::path(module.path).parent_path() / path)
          .lexically_normal()
          .string());
  std::vector<std::string> names;
  if (file)
    for (const auto& [name, entry] : file->entries)
      if (std::holds_alternative<ast::RecipeDecl>(entry.declaration->node))
        names.emplace_back(name);
  return names;
}

/// Helps with `amends "base.recipe"`: the file has to be imported, and its
/// recipe amended.
static void helpWithFile(diag::Builder& builder, const std::string& path,
                         const std::vector<std::string>& names,
                         SourceRange place) {
  const bool isOne = names.size() == 1;
  const std::string name = isOne ? names.front() : "NAME";
  const std::string import = "import \"" + path + "\" { " + name + " }";
  builder.help("write `" + import + "` and `amends " + name + "`" +
               (isOne ? "" : ", with a recipe of that file"));
  if (isOne)
    builder.fixIt({place.source, 0, 0}, import + "\n").fixIt(place, name);
}

/// Lists the declarations of one kind that may be used at a place.
static void helpWithNames(diag::Builder& builder,
                          const std::vector<std::string>& names,
                          const std::string& kind, SourceRange place) {
  constexpr size_t most = 8;
  if (names.size() == 1)
    builder.help("write `" + names.front() + "`")
        .fixIt(place, names.front())
        .otherwise("the only " + kind + " here is `" + names.front() + "`");
  else if (!names.empty())
    builder.help("the " + kind + "s here are " + diag::quotedList(names, most));
  else
    builder.help("there is no " + kind +
                 " here: declare one, or import it, "
                 "`import \"FILE.recipe\" { name }`");
}

/// Whether a name of a file, declared or imported, is a declaration of one
/// kind.
template <class Declaration>
static bool declares(const Evaluator& evaluator, const ModuleEntry& entry) {
  if (std::holds_alternative<Declaration>(entry.declaration->node))
    return true;
  auto* import = std::get_if<ast::Import>(&entry.declaration->node);
  if (!import || !entry.selected)
    return false;
  const Value* target = evaluator.modules.targetOf(*import);
  Module* const* file = target ? target->get<Module*>() : nullptr;
  const ModuleEntry* own =
      file ? (*file)->find(entry.selected->name.text) : nullptr;
  return own && std::holds_alternative<Declaration>(own->declaration->node);
}

template <class Declaration>
static std::vector<std::string> namesOf(const Evaluator& evaluator,
                                        const Module& module,
                                        const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : module.entries)
    if (declares<Declaration>(evaluator, entry))
      names.push_back(prefix + std::string(name));
  return names;
}

std::vector<std::string> Recipes::recipesOf(const Module& module,
                                            const std::string& prefix) const {
  return namesOf<ast::RecipeDecl>(evaluator, module, prefix);
}

/// Helps with a value after `amends` that is not a recipe. A model, for
/// example, is set in the braces of a recipe.
void Recipes::helpWithParents(diag::Builder& builder, const Module& module,
                              const ast::RecipeDecl& recipe,
                              const Value& parent, SourceRange place) {
  std::vector<std::string> names = recipesOf(module, "");
  std::erase(names, recipe.name.text);
  Object* const* object = parent.get<Object*>();
  const bool isModel =
      object && (*object)->schema && (*object)->schema->isModel;
  if (!isModel)
    return helpWithNames(builder, names, "recipe", place);
  const std::string head = "recipe " + recipe.name.text +
                           (names.size() == 1 ? " amends " + names[0] : "");
  builder.help("a model is a setting of a recipe: write `" + head +
               " { model = " + std::string(evaluator.sources.text(place)) +
               " ... }`");
}

const Object* Recipes::parentOf(Module& module, const ast::RecipeDecl& recipe) {
  Value parent = evaluator.evaluate(recipe.parent, module.env);
  if (parent.isPoison())
    return nullptr;
  Object* const* object = parent.get<Object*>();
  if (object && (*object)->schema == schema())
    return *object;
  const std::string kind = typeNameOf(parent);
  const SourceRange place = (*module.file)[recipe.parent].range;
  const std::string written(evaluator.sources.text(place));
  const std::string* path = parent.get<std::string>();
  const bool isFile = path && path->ends_with(".recipe");
  const std::vector<std::string> names =
      isFile ? recipesIn(module, *path) : std::vector<std::string>();
  auto builder =
      evaluator.messages.report(diag::Kind::WrongType, place,
                                "a recipe amends a recipe, and this is of "
                                "type `" +
                                    kind + "`");
  if (kind == "mixin")
    builder.help("mixins stand behind `with`: write `recipe " +
                 recipe.name.text + " with " + written +
                 " { ... }`, with `amends PARENT` before it if it has a "
                 "parent");
  else if (isFile)
    helpWithFile(builder, *path, names, place);
  else if (Module* const* file = parent.get<Module*>())
    helpWithNames(builder, recipesOf(**file, written + "."), "recipe", place);
  else
    helpWithParents(builder, module, recipe, parent, place);
  return nullptr;
}

Value Recipes::valueOf(Module& module, const ast::RecipeDecl& recipe) {
  const Schema* recipes = schema();
  if (!recipes)
    return poison();
  std::vector<const Layer*> layers;
  if (recipe.parent != ast::ExprId::none) {
    const Object* parent = parentOf(module, recipe);
    if (!parent)
      return poison();
    layers = parent->layers;
  }
  for (ast::ExprId id : recipe.mixins) {
    const Layer* layer = mixinLayer(module, recipe, id);
    if (!layer)
      return poison();
    layers.push_back(layer);
  }
  Value name{recipe.name.text, evaluator.writtenAt(recipe.name.range)};
  layers.push_back(evaluator.layers.ofValue("name", name));
  layers.push_back(evaluator.layers.ofBody(module.env, recipe.body, true));
  Object* object =
      evaluator.objects.make(recipes, std::move(layers), recipe.name.range);
  return {object, evaluator.writtenAt(recipe.name.range)};
}

// ---- mixins

/// Reports `with generation`, where the name is that of the file with the
/// mixin.
void Recipes::reportFileAsMixin(const Module& file, SourceRange range) {
  const std::string name(evaluator.sources.text(range));
  auto builder =
      evaluator.messages.report(diag::Kind::WrongType, range,
                                "`with` takes mixins, and `" + name +
                                    "` is the file `" + file.path + "`");
  const std::vector<std::string> mixins =
      namesOf<ast::MixinDecl>(evaluator, file, name + ".");
  if (mixins.empty())
    builder.help("the file has no mixins");
  else if (mixins.size() == 1)
    builder.help("write `" + mixins[0] + "`")
        .fixIt(range, mixins[0], diag::Applicability::safe);
  else
    builder.help("its mixins are " + diag::quotedList(mixins, mixins.size()));
}

/// The mixins in a list or sum, `[a, b]` or `a + b`, as written; empty for
/// other expressions.
static std::string joinedMixins(const SourceMap& sources, const ast::File& file,
                                ast::ExprId id) {
  if (auto* list = std::get_if<ast::ListExpr>(&file[id].node)) {
    std::string names;
    for (ast::ExprId element : list->elements)
      names += (names.empty() ? "" : ", ") +
               std::string(sources.text(file[element].range));
    return names;
  }
  auto* pair = std::get_if<ast::Binary>(&file[id].node);
  if (!pair ||
      (pair->op != ast::BinaryOp::add && pair->op != ast::BinaryOp::logicalAnd))
    return {};
  auto side = [&](ast::ExprId each) {
    const std::string inner = joinedMixins(sources, file, each);
    return inner.empty() ? std::string(sources.text(file[each].range)) : inner;
  };
  return side(pair->left) + ", " + side(pair->right);
}

/// `with [a, b]`, `with a + b`
bool Recipes::reportJoinedMixins(const Module& module, ast::ExprId id) {
  const std::string names = joinedMixins(evaluator.sources, *module.file, id);
  const SourceRange range = (*module.file)[id].range;
  if (names.empty() || names.find('\n') != names.npos)
    return false;
  evaluator.messages
      .report(diag::Kind::WrongType, range,
              "mixins behind `with` are divided by commas")
      .help("write `with " + names + "`")
      .fixIt(range, names)
      .otherwise("write `with " + names + "`");
  return true;
}

/// The declaration in the same file that a name after `with` refers to; null if
/// there is none.
static const ast::Declaration* declaredAs(Module& module, std::string_view name,
                                          const ast::RecipeDecl*& recipe) {
  const ModuleEntry* entry = module.find(name);
  recipe =
      entry ? std::get_if<ast::RecipeDecl>(&entry->declaration->node) : nullptr;
  return recipe ? entry->declaration : nullptr;
}

/// Reports `with small`, where `small` is a recipe. A recipe without a parent
/// can amend it; for others, its settings have to become a mixin.
void Recipes::reportRecipeAsMixin(Module& module, const ast::RecipeDecl& recipe,
                                  SourceRange range) {
  const std::string name(evaluator.sources.text(range));
  const ast::RecipeDecl* given = nullptr;
  const ast::Declaration* declaration = declaredAs(module, name, given);
  const bool isAbstract = given && given->isAbstract;
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, range,
      "`with` takes mixins, and `" + name + "` is " +
          (isAbstract ? "an abstract recipe" : "a recipe"));
  const std::string head = "recipe " + recipe.name.text + " amends ";
  if (recipe.parent == ast::ExprId::none) {
    builder.help("a recipe amends another: write `" + head + name + "`");
    const size_t word =
        evaluator.sources.text(range.source).rfind("with", range.begin);
    if (recipe.mixins.size() == 1 && word != std::string_view::npos)
      builder.fixIt({range.source, uint32_t(word), uint32_t(word + 4)},
                    "amends");
    return;
  }
  const std::string parent(
      evaluator.sources.text((*module.file)[recipe.parent].range));
  const std::string start = "a recipe amends one other, here `" + parent +
                            "`: declare the settings of `" + name + "` as ";
  const std::string own = "`mixin " + name + " { ... }`";
  if (!declaration || given->parent != ast::ExprId::none ||
      !given->mixins.empty()) {
    builder.help(start + own + ", or write `" + head + name + "`");
    return;
  }
  const SourceRange before{declaration->range.source, declaration->range.begin,
                           given->name.range.begin};
  const std::string end = ", in place of `" +
                          std::string(evaluator.sources.text(before)) + name +
                          " { ... }`";
  builder.propose({start, {{own, {}, {{before, "mixin "}}}}, end})
      .otherwise(start + own);
}

const Layer* Recipes::mixinLayer(Module& module, const ast::RecipeDecl& recipe,
                                 ast::ExprId id) {
  if (reportJoinedMixins(module, id))
    return nullptr;
  Value value = evaluator.evaluate(id, module.env);
  SourceRange range = (*module.file)[id].range;
  if (value.isPoison())
    return nullptr;
  const Mixin* const* mixin = value.get<const Mixin*>();
  if (Module* const* file = value.get<Module*>()) {
    reportFileAsMixin(**file, range);
    return nullptr;
  }
  Object* const* object = value.get<Object*>();
  if (object && (*object)->schema == schema()) {
    reportRecipeAsMixin(module, recipe, range);
    return nullptr;
  }
  if (!mixin) {
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, range,
        "`with` takes mixins, and this is of type `" + typeNameOf(value) + "`");
    if (object)
      builder.help("settings stand in the braces of the recipe, or in a mixin: "
                   "`mixin name { ... }`");
    else
      helpWithNames(builder, namesOf<ast::MixinDecl>(evaluator, module, ""),
                    "mixin", range);
    return nullptr;
  }
  if (!(*mixin)->arguments) { // named without parentheses
    value = callMixin(**mixin, ast::Call{id, {}}, range, module.env);
    mixin = value.get<const Mixin*>();
  }
  return mixin ? layerOf(**mixin, (*mixin)->arguments) : nullptr;
}

Value Recipes::callMixin(const Mixin& mixin, const ast::Call& node,
                         SourceRange range, const Env& env) {
  const ast::MixinDecl& declaration = *mixin.declaration;
  if (mixin.arguments) {
    const std::string_view callee =
        evaluator.sources.text((*env.file)[node.callee].range);
    evaluator.messages
        .report(diag::Kind::WrongType, range,
                "`" + declaration.name.text + "` has its arguments already")
        .help("write `" + std::string(callee) + "`, without parentheses");
    return poison();
  }
  Type any = Type::plain(Type::Kind::any);
  auto bound = evaluator.calls.bind(
      evaluator.calls.parametersOf(declaration.parameters, mixin.env), node,
      range, env, declaration.name.text, nullptr, &any);
  if (!bound)
    return poison();
  Locals& arguments = evaluator.store.make<Locals>();
  for (size_t i = 0; i < bound->size(); ++i)
    arguments.names.emplace_back(declaration.parameters[i].name.text,
                                 *(*bound)[i].value);
  return {&std::as_const(evaluator.store.make<Mixin>(
              {&declaration, mixin.env, &arguments})),
          evaluator.writtenAt(range)};
}

const Layer* Recipes::layerOf(const Mixin& mixin, Locals* arguments) {
  Layer& layer = evaluator.store.make<Layer>(
      *evaluator.layers.ofBody(*mixin.env, mixin.declaration->body, true));
  layer.locals = arguments;
  return &layer;
}

Object* Recipes::settingsOf(const Mixin& mixin) {
  const Schema* recipes = schema();
  if (!recipes)
    return nullptr;
  Locals& arguments = evaluator.store.make<Locals>();
  for (const ast::Parameter& parameter : mixin.declaration->parameters)
    arguments.names.emplace_back(parameter.name.text, poison());
  return evaluator.objects.make(recipes, {layerOf(mixin, &arguments)},
                                mixin.declaration->name.range);
}

// ---- overrides

const Layer* Recipes::overrideLayer(const Override& override, Module& module) {
  Module* names = evaluator.modules.addOverride(*override.file, module);
  Layer& layer = evaluator.store.make<Layer>();
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

Object* Recipes::withOverrides(const Object& settings, Module& module,
                               const std::vector<Override>& overrides) {
  std::vector<const Layer*> layers = settings.layers;
  for (const Override& override : overrides)
    layers.push_back(overrideLayer(override, module));
  return evaluator.objects.make(settings.schema, std::move(layers),
                                settings.range);
}

const Layer* Recipes::layerOf(const LibraryMixin& named) {
  Module* module = evaluator.modules.load(named.file);
  assert(module && "the library lacks a file");
  ModuleEntry* entry = module->find(named.name);
  assert(entry && "the library lacks a mixin");
  const Mixin* const* mixin =
      evaluator.modules.entryValue(*module, *entry).get<const Mixin*>();
  assert(mixin && "what is applied is no mixin");
  return layerOf(**mixin, &evaluator.store.make<Locals>());
}

Object* Recipes::withChanges(const Object& settings, Module& module,
                             const Changes& changes) {
  std::vector<const Layer*> layers = settings.layers;
  for (const LibraryMixin& mixin : changes.mixins)
    layers.push_back(layerOf(mixin));
  for (const Override& override : changes.overrides)
    layers.push_back(overrideLayer(override, module));
  return evaluator.objects.make(settings.schema, std::move(layers),
                                settings.range);
}

Object* Recipes::settingsOf(const ast::RecipeDecl& recipe, Module& module,
                            const std::vector<Override>& overrides) {
  ModuleEntry* entry = module.find(recipe.name.text);
  if (!entry) // duplicate name, already reported
    return nullptr;
  Object* const* object =
      evaluator.modules.entryValue(module, *entry).get<Object*>();
  return object ? withOverrides(**object, module, overrides) : nullptr;
}

} // namespace recipec::sema
