// Selects what a command compiles; see Select.h.
//
// 1. Take the named recipe, or all recipes that can be launched.
// 2. Evaluate the axes of each; a sweep stands for its points.
// 3. Take the named point, or all points.
// 4. Reject more than the command can take.

#include "compiler/sema/recipes/Select.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Layouts.h"
#include "compiler/sema/recipes/Sweep.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

namespace recipec::sema {
namespace {

/// The most names that a message lists.
constexpr size_t mostListed = 8;

/// Whether a recipe amends the named one, directly or through other recipes of
/// the file.
bool amends(const ast::File& file, const ast::RecipeDecl& recipe,
            std::string_view name) {
  const ast::RecipeDecl* at = &recipe;
  // A chain longer than the file is a cycle.
  for (size_t i = 0; at && i < file.declarations.size(); ++i) {
    if (at->parent == ast::ExprId::none)
      return false;
    auto* parent = std::get_if<ast::NameRef>(&file[at->parent].node);
    if (!parent)
      return false;
    if (parent->name.text == name)
      return true;
    at = findRecipe(file, parent->name.text);
  }
  return false;
}

class Selector {
public:
  Selector(const SourceMap& sources, const Naming& naming, Extent extent,
           Loader& loader, diag::Engine& engine)
      : sources(sources), naming(naming), extent(extent), engine(engine),
        evaluator(sources, loader, engine) {}

  std::optional<std::vector<Selection>> run();

private:
  using Recipes = std::vector<const ast::RecipeDecl*>;

  std::optional<Recipes> recipes() const;
  bool isLibrary() const;
  std::optional<Recipes> namedRecipe() const;
  std::optional<Recipes> onlyRecipe(Recipes concrete) const;
  std::vector<Selection> pointsOf(const ast::RecipeDecl& recipe,
                                  Module& module);
  bool areApart(const Sweep& sweep, const Layouts& layouts);
  static std::vector<Selection> withLayouts(const std::vector<Selection>& runs,
                                            const Layouts& layouts);
  std::optional<std::vector<Selection>>
  namedPoint(const ast::RecipeDecl& recipe, std::vector<Selection> points);
  void reportSeveralPoints(const ast::RecipeDecl& recipe,
                           const std::vector<Selection>& points);
  void reportAbstract(const ast::RecipeDecl& recipe) const;

  std::string fileName() const {
    return std::string(sources.name(naming.file->source));
  }
  SourceRange start() const { return {naming.file->source, 0, 0}; }

  const SourceMap& sources;
  const Naming& naming;
  Extent extent;
  diag::Engine& engine;
  Evaluator evaluator;
};

std::vector<std::string> namesOf(const std::vector<Selection>& selections) {
  std::vector<std::string> names;
  for (const Selection& selection : selections)
    names.push_back(selection.name);
  return names;
}

/// A point's name with only the last part of each path: `sft@lr=1e-5,tp=2`.
std::string shortened(const std::string& name) {
  std::string text;
  for (char c : name) {
    size_t begin = text.find_last_of("@,") + 1; // 0 when there is none
    if (c == '.' && text.find('=', begin) == text.npos)
      text.resize(begin);
    else
      text += c;
  }
  return text;
}

void Selector::reportAbstract(const ast::RecipeDecl& recipe) const {
  auto builder = engine.report(diag::Kind::AbstractRecipe, recipe.name.range,
                               "`" + recipe.name.text +
                                   "` is abstract: it is there to be amended, "
                                   "and is not launched");
  std::vector<std::string> children;
  for (const ast::RecipeDecl* child : concreteRecipes(*naming.file))
    if (amends(*naming.file, *child, recipe.name.text))
      children.push_back(child->name.text);
  if (children.empty())
    builder.help("add `recipe name amends " + recipe.name.text + " { ... }`");
  else
    builder.help("take one that amends it: " +
                 diag::quotedList(children, mostListed));
}

std::optional<Selector::Recipes> Selector::namedRecipe() const {
  if (const ast::RecipeDecl* recipe = findRecipe(*naming.file, naming.recipe)) {
    if (!recipe->isAbstract)
      return Recipes{recipe};
    reportAbstract(*recipe);
    return std::nullopt;
  }
  std::vector<std::string> names = recipeNames(*naming.file);
  auto builder = engine.report(diag::Kind::RecipeNotFound, naming.recipeRange,
                               "`" + fileName() + "` has no recipe `" +
                                   naming.recipe + "`");
  if (auto near = diag::didYouMean(naming.recipe, names))
    builder.help("did you mean `" + *near + "`?");
  else if (!names.empty())
    builder.help("its recipes are " + diag::quotedList(names, mostListed));
  else
    builder.help("it declares none: add `recipe " + naming.recipe +
                 " { ... }`");
  return std::nullopt;
}

std::optional<Selector::Recipes> Selector::onlyRecipe(Recipes concrete) const {
  if (concrete.size() == 1)
    return concrete;
  std::vector<std::string> names;
  for (const ast::RecipeDecl* recipe : concrete)
    names.push_back(recipe->name.text);
  if (concrete.empty()) {
    if (engine.hasErrors()) // those errors may be the reason
      return std::nullopt;
    bool hasAbstract = !recipeNames(*naming.file).empty();
    engine
        .report(diag::Kind::RecipeNotFound, start(),
                "`" + fileName() + "` declares no recipe" +
                    (hasAbstract ? " that can be launched" : ""))
        .help(hasAbstract ? "its recipes are abstract: amend one of them"
                          : "add `recipe name { model = ..., cluster "
                            "{ ... }, data { ... } }`; `recipec doc "
                            "std.schema.recipe` lists its fields");
    return std::nullopt;
  }
  engine
      .report(diag::Kind::AmbiguousRecipe,
              naming.fileRange.isValid() ? naming.fileRange
                                         : concrete[1]->name.range,
              "`" + fileName() + "` has " + std::to_string(names.size()) +
                  " recipes, and none is named")
      .help("name one, say `" + fileName() + ":" + names[0] +
            "`; its recipes are " + diag::quotedList(names, mostListed));
  return std::nullopt;
}

std::optional<Selector::Recipes> Selector::recipes() const {
  if (!naming.recipe.empty())
    return namedRecipe();
  Recipes concrete = concreteRecipes(*naming.file);
  bool mayBeMany = extent == Extent::file && (!concrete.empty() || isLibrary());
  return mayBeMany ? concrete : onlyRecipe(std::move(concrete));
}

/// Whether the file declares anything that recipes of other files use. A file
/// with only imports and `let`s does not count: its recipe was probably
/// forgotten.
bool Selector::isLibrary() const {
  if (sources.kind(naming.file->source) == SourceKind::standardLibrary)
    return true;
  const auto& declarations = naming.file->declarations;
  return std::any_of(declarations.begin(), declarations.end(),
                     [](const ast::Declaration& declaration) {
                       const auto& node = declaration.node;
                       return !std::holds_alternative<ast::Import>(node) &&
                              !std::holds_alternative<ast::Let>(node);
                     });
}

std::vector<Selection> Selector::pointsOf(const ast::RecipeDecl& recipe,
                                          Module& module) {
  const std::string& name = recipe.name.text;
  std::vector<Selection> whole = {{name, std::nullopt, name, false}};
  Object* settings =
      evaluator.recipes.settingsOf(recipe, module, naming.overrides);
  if (!settings)
    return whole;
  evaluator.recipeRange = recipe.name.range;
  std::optional<Sweep> sweep =
      sweepOf(evaluator, name, *settings, naming.overrides);
  const Layouts layouts = layoutsOf(evaluator, *settings);
  if (!sweep || !areApart(*sweep, layouts)) {
    whole.front().isBroken = true;
    return whole;
  }
  if (sweep->axes.empty())
    return withLayouts(whole, layouts);
  std::vector<Selection> points;
  for (size_t i = 0; i < sweep->count(); ++i)
    points.push_back({name, i, sweep->nameOf(i), false});
  return withLayouts(points, layouts);
}

/// Whether no axis of the sweep sets the counts of the layouts. Reports one
/// that does.
bool Selector::areApart(const Sweep& sweep, const Layouts& layouts) {
  const auto axis = std::ranges::find_if(sweep.axes, setsRanks);
  if (layouts.all.empty() || axis == sweep.axes.end())
    return true;
  engine
      .report(diag::Kind::DuplicateName, axis->range,
              "the sweep makes a run for each `cluster.ranks`, and a list of "
              "counts is for one run")
      .label(layouts.range, "the list")
      .help("leave the axis out for one run that may go on with fewer ranks, "
            "or write one count for `cluster.ranks` to compare runs");
  return false;
}

/// The layouts of each run, where it has several.
std::vector<Selection> Selector::withLayouts(const std::vector<Selection>& runs,
                                             const Layouts& layouts) {
  std::vector<Selection> all;
  for (const Selection& run : runs) {
    Selection each = run;
    each.run = run.name;
    if (layouts.all.empty())
      all.push_back(each);
    for (const Layout& layout : layouts.all) {
      each.layout = layout;
      each.name = nameOfLayout(run.name, layout);
      all.push_back(each);
    }
  }
  return all;
}

/// A point's name without the numbers after `=`, and these numbers.
struct NumbersOfPoint {
  std::string rest;
  std::vector<double> numbers;

  bool operator==(const NumbersOfPoint&) const = default;
};

static NumbersOfPoint numbersOf(const std::string& name) {
  NumbersOfPoint found;
  const char* const end = name.data() + name.size();
  for (size_t i = 0; i < name.size(); ++i) {
    found.rest += name[i];
    const bool isValue =
        name[i] == '=' && i + 1 < name.size() &&
        (std::isdigit(static_cast<unsigned char>(name[i + 1])) ||
         name[i + 1] == '-');
    double number = 0;
    const auto read = isValue
                          ? std::from_chars(name.data() + i + 1, end, number)
                          : std::from_chars_result{end, std::errc(1)};
    if (read.ec != std::errc())
      continue;
    found.numbers.push_back(number);
    i = size_t(read.ptr - name.data()) - 1;
  }
  return found;
}

/// A name without its numbers. A different number is not a misspelling.
static std::string withoutNumbers(const std::string& name) {
  std::string rest = numbersOf(name).rest;
  std::erase_if(rest, [](unsigned char c) { return std::isdigit(c); });
  return rest;
}

std::optional<std::vector<Selection>>
Selector::namedPoint(const ast::RecipeDecl& recipe,
                     std::vector<Selection> points) {
  std::string name = recipe.name.text + "@" + naming.point;
  // A number may be written differently than in the recipe: 0.002 for 2e-3.
  auto isEqual = [&](const Selection& point) {
    return numbersOf(point.name) == numbersOf(name);
  };
  auto found = std::ranges::find(points, name, &Selection::name);
  if (found == points.end())
    found = std::ranges::find_if(points, isEqual);
  if (found != points.end())
    return std::vector<Selection>{std::move(*found)};
  std::vector<Selection> layouts; // of the point
  std::ranges::copy_if(
      points, std::back_inserter(layouts),
      [&](const Selection& each) { return each.layout && each.run == name; });
  if (!layouts.empty())
    return layouts;
  auto builder =
      engine.report(diag::Kind::RecipeNotFound, naming.pointRange,
                    "`" + recipe.name.text + "` has no point `" + name + "`");
  std::vector<std::string> names = namesOf(points);
  auto meant = std::ranges::find(names, shortened(name), shortened);
  if (!points.front().isOneOfMany())
    builder.help("it has no `sweep`: name it without `@" + naming.point + "`");
  else if (meant != names.end())
    builder.help("did you mean `" + *meant + "`?");
  else if (auto near = diag::didYouMean(name, names);
           near && withoutNumbers(*near) != withoutNumbers(name))
    builder.help("did you mean `" + *near + "`?");
  else
    builder.help("its points are " + diag::quotedList(names, mostListed));
  return std::nullopt;
}

void Selector::reportSeveralPoints(const ast::RecipeDecl& recipe,
                                   const std::vector<Selection>& points) {
  std::vector<std::string> names = namesOf(points);
  const bool isSweep = points.front().point.has_value();
  auto builder = engine.report(
      diag::Kind::AmbiguousRecipe,
      naming.recipeRange.isValid() ? naming.recipeRange
      : naming.fileRange.isValid() ? naming.fileRange
                                   : recipe.name.range,
      "`" + recipe.name.text + "` " +
          (isSweep ? "sweeps over " + std::to_string(points.size()) + " points"
                   : "has " + std::to_string(points.size()) +
                         " layouts, a list of `cluster.ranks`") +
          ", and none is named");
  builder.help("name one, say `" + fileName() + ":" + names[0] + "`" +
               (isSweep
                    ? ""
                    : ", or take one count, `--set cluster.ranks=" +
                          std::to_string(points.front().layout->ranks) + "`"));
  builder.help("`recipec plan FILE -o DIR/` writes the plans of all");
}

std::optional<std::vector<Selection>> Selector::run() {
  std::optional<Recipes> chosen = recipes();
  if (!chosen)
    return std::nullopt;
  if (chosen->empty())
    return std::vector<Selection>();
  Module* module = evaluator.modules.open(*naming.file);
  if (!module)
    return std::nullopt;
  std::vector<Selection> selections;
  for (const ast::RecipeDecl* recipe : *chosen)
    for (Selection& point : pointsOf(*recipe, *module))
      selections.push_back(std::move(point));
  if (engine.hasErrors() && extent != Extent::file)
    return std::nullopt;
  if (!naming.point.empty()) {
    auto named = namedPoint(*chosen->front(), std::move(selections));
    if (!named)
      return std::nullopt;
    selections = std::move(*named);
  }
  if (extent == Extent::launch && selections.size() > 1) {
    reportSeveralPoints(*chosen->front(), selections);
    return std::nullopt;
  }
  return selections;
}

} // namespace

std::optional<std::vector<Selection>> select(const SourceMap& sources,
                                             const Naming& naming,
                                             Extent extent, Loader& loader,
                                             diag::Engine& engine) {
  return Selector(sources, naming, extent, loader, engine).run();
}

} // namespace recipec::sema
