// The entry of the phase; see Analyze.h for its steps.

#include "compiler/sema/Analyze.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/Trace.h"

#include <algorithm>
#include <cassert>

namespace recipec::sema {
namespace {

class Analysis {
public:
  Analysis(const SourceMap& sources, const Request& request, Loader& loader,
           diag::Engine& engine)
      : sources(sources), request(request), engine(engine),
        errorsBefore(engine.errors()), evaluator(sources, loader, engine) {}

  std::optional<recipe::Recipe> run();

private:
  const ast::RecipeDecl* findRecipe();
  Object* settingsOf(const ast::RecipeDecl& declaration, Module& module);
  const Layer* layerOf(const Override& override, Module& module);
  std::optional<recipe::Dataflow> trace(Object& settings);
  bool hasFailed() const { return engine.errors() > errorsBefore; }

  const SourceMap& sources;
  const Request& request;
  diag::Engine& engine;
  int errorsBefore; // of other files
  Evaluator evaluator;
};

const ast::RecipeDecl* Analysis::findRecipe() {
  const ast::RecipeDecl* last = nullptr;
  for (const ast::Declaration& declaration : request.file->declarations) {
    auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node);
    if (!recipe)
      continue;
    last = recipe;
    if (recipe->name.text == request.recipe)
      return recipe;
  }
  if (request.recipe.empty() && last)
    return last;
  std::string file(sources.name(request.file->source));
  SourceRange start{request.file->source, 0, 0};
  if (!last) {
    evaluator
        .report(diag::Kind::RecipeNotFound, start,
                "`" + file + "` declares no recipe")
        .help("add `recipe name { ... }`");
    return nullptr;
  }
  auto builder =
      evaluator.report(diag::Kind::RecipeNotFound, start,
                       "`" + file + "` has no recipe `" + request.recipe + "`");
  std::vector<std::string> names = recipeNames(*request.file);
  if (auto near = diag::didYouMean(request.recipe, names)) {
    builder.help("did you mean `" + *near + "`?");
    return nullptr;
  }
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "`" : ", `") + name + "`";
  builder.help("its recipes are " + list);
  return nullptr;
}

const Layer* Analysis::layerOf(const Override& override, Module& module) {
  Module* names = evaluator.addOverrideModule(*override.file, module);
  Layer& layer = evaluator.make<Layer>();
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

Object* Analysis::settingsOf(const ast::RecipeDecl& declaration,
                             Module& module) {
  ModuleEntry* entry = module.find(declaration.name.text);
  if (!entry) // a second declaration of the name, reported
    return nullptr;
  const Value& value = evaluator.entryValue(module, *entry);
  Object* const* object = value.get<Object*>();
  if (!object)
    return nullptr;
  std::vector<const Layer*> layers = (*object)->layers;
  for (const Override& override : request.overrides)
    layers.push_back(layerOf(override, module));
  return evaluator.makeObject((*object)->schema, std::move(layers),
                              (*object)->range);
}

std::optional<recipe::Dataflow> Analysis::trace(Object& settings) {
  Slot* slot = settings.find("model");
  Object* const* model =
      slot ? evaluator.force(settings, *slot).get<Object*>() : nullptr;
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
  if (!evaluator.loadLibrary()) {
    evaluator.report(diag::Kind::ImportNotFound, {request.file->source, 0, 0},
                     "the standard library is not there, or broken");
    return std::nullopt;
  }
  Module* module = evaluator.addModule(
      *request.file, std::string(sources.name(request.file->source)));
  const ast::RecipeDecl* declaration = findRecipe();
  if (!declaration)
    return std::nullopt;
  evaluator.recipeRange = declaration->name.range;
  evaluator.checkDeclarations(*module);
  Object* settings = settingsOf(*declaration, *module);
  if (!settings) {
    assert(hasFailed() && "a recipe is lost without a message");
    return std::nullopt;
  }
  evaluator.root = settings;
  evaluator.finish(*settings);
  std::optional<recipe::Dataflow> model = trace(*settings);
  if (hasFailed())
    return std::nullopt;
  assert(model && "a model is lost without a message");
  recipe::Recipe result;
  result.name = declaration->name.text;
  result.range = declaration->name.range;
  result.settings =
      evaluator.lower({settings, evaluator.writtenAt(declaration->name.range)});
  result.model = std::move(*model);
  if (hasFailed()) // lowering ran into a limit
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

} // namespace recipec::sema
