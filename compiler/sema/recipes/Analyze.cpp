// The entry of the phase; see Analyze.h for its steps.

#include "compiler/sema/recipes/Analyze.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/recipes/Layouts.h"
#include "compiler/sema/recipes/Sweep.h"
#include "compiler/sema/values/Lower.h"

#include <algorithm>
#include <cassert>

namespace recipec::sema {
namespace {

class Analysis {
public:
  Analysis(const SourceMap& sources, const Request& request, Loader& loader,
           diag::Engine& engine)
      : request(request), engine(engine), errorsBefore(engine.errors()),
        evaluator(sources, loader, engine) {}

  std::optional<recipe::Recipe> run();

private:
  std::optional<recipe::Dataflow> trace(Object& settings);
  bool hasFailed() const {
    return engine.errors() > errorsBefore ||
           evaluator.modules.hasBrokenImport();
  }

  const Request& request;
  diag::Engine& engine;
  int errorsBefore; // errors of other files
  std::string name; // of the recipe or the point
  Evaluator evaluator;
};

} // namespace

Object* requestedSettings(Evaluator& evaluator, const Request& request,
                          const ast::RecipeDecl& declaration, Module& module,
                          std::string& name) {
  Object* settings =
      evaluator.recipes.settingsOf(declaration, module, request.overrides);
  if (!settings)
    return nullptr;
  if (request.point) {
    std::optional<Sweep> sweep =
        sweepOf(evaluator, name, *settings, request.overrides);
    if (!sweep)
      return nullptr;
    assert(*request.point < sweep->count() && "no such point");
    name = sweep->nameOf(*request.point);
    std::vector<const Layer*> layers = settings->layers;
    // The point goes below the overrides, which win.
    layers.insert(layers.end() - std::ptrdiff_t(request.overrides.size()),
                  pointLayer(evaluator, *sweep, *request.point));
    settings = evaluator.objects.make(settings->schema, std::move(layers),
                                      settings->range);
  }
  if (request.layout) {
    name = nameOfLayout(name, *request.layout);
    settings = evaluator.objects.amended(
        *settings, layoutLayer(evaluator, *request.layout), settings->range);
  }
  return evaluator.recipes.withChanges(*settings, module, request.changes);
}

namespace {

std::optional<recipe::Dataflow> Analysis::trace(Object& settings) {
  Slot* slot = settings.find("model");
  Object* const* model =
      slot ? evaluator.objects.force(settings, *slot).get<Object*>() : nullptr;
  if (!model)
    return std::nullopt;
  bool isWhole =
      std::none_of((*model)->slots.begin(), (*model)->slots.end(),
                   [](const Slot& slot) { return slot.value.isPoison(); });
  if (!isWhole)
    return std::nullopt;
  return Tracer(evaluator, **model).run();
}

std::optional<recipe::Recipe> Analysis::run() {
  const ast::RecipeDecl* declaration =
      findRecipe(*request.file, request.recipe);
  assert(declaration && "the file has no such recipe");
  name = declaration->name.text;
  Module* module = evaluator.modules.open(*request.file);
  if (!module)
    return std::nullopt;
  evaluator.recipeRange = declaration->name.range;
  evaluator.modules.checkDeclarations(*module);
  Object* settings =
      requestedSettings(evaluator, request, *declaration, *module, name);
  if (!settings) {
    assert(hasFailed() && "a recipe is lost without a message");
    return std::nullopt;
  }
  evaluator.root = settings;
  evaluator.objects.finish(*settings);
  std::optional<recipe::Dataflow> model = trace(*settings);
  if (hasFailed())
    return std::nullopt;
  assert(model && "a model is lost without a message");
  recipe::Recipe result;
  result.name = name;
  result.range = declaration->name.range;
  result.settings = lower(
      evaluator, {settings, evaluator.writtenAt(declaration->name.range)});
  result.model = std::move(*model);
  if (hasFailed()) // lowering hit a limit
    return std::nullopt;
  return result;
}

} // namespace

std::optional<recipe::Recipe> analyze(const SourceMap& sources,
                                      const Request& request, Loader& loader,
                                      diag::Engine& engine) {
  return Analysis(sources, request, loader, engine).run();
}

std::vector<std::string> recipeNames(const ast::File& file) {
  std::vector<std::string> names;
  for (const ast::Declaration& declaration : file.declarations)
    if (auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node))
      names.push_back(recipe->name.text);
  return names;
}

std::vector<const ast::RecipeDecl*> concreteRecipes(const ast::File& file) {
  std::vector<const ast::RecipeDecl*> recipes;
  for (const ast::Declaration& declaration : file.declarations) {
    auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node);
    if (recipe && !recipe->isAbstract &&
        findRecipe(file, recipe->name.text) == recipe)
      recipes.push_back(recipe);
  }
  return recipes;
}

const ast::RecipeDecl* findRecipe(const ast::File& file,
                                  std::string_view name) {
  for (const ast::Declaration& declaration : file.declarations)
    if (auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node))
      if (recipe->name.text == name)
        return recipe;
  return nullptr;
}

} // namespace recipec::sema
