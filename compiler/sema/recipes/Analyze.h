// The second phase: turns syntax trees into an evaluated, typed recipe.
//
// 1. Find the recipe and the recipes that it amends; put a point of its sweep
//    and the overrides on top.
// 2. Evaluate its fields in the order of stdlib/schema, each lazily, so that a
//    derived field follows overridden fields; check types, units and `require`
//    conditions.
// 3. Trace the model's `forward` into a Dataflow.
//
// Each mistake gives one diagnostic. Values that could not be computed are
// poison and never cause another.

#ifndef RECIPEC_SEMA_RECIPES_ANALYZE_H
#define RECIPEC_SEMA_RECIPES_ANALYZE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/sema/modules/Loader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// An assignment that wins over the recipe's own, from `--set` for example.
/// Messages about it show its own source. `value` is an expression of `file`.
struct Override {
  const ast::File* file = nullptr;
  std::vector<ast::Name> path;
  ast::ExprId value = ast::ExprId::none;
};

/// A mixin without parameters, of the standard library or of a text that the
/// driver has made.
struct LibraryMixin {
  std::string file; // `std/serving/generation.recipe`
  std::string name;
};

/// Settings that the driver puts on top of a recipe to compile a second plan of
/// it. The points of the recipe's sweep stay the same.
struct Changes {
  std::vector<LibraryMixin> mixins; // the last wins
  std::vector<Override> overrides;  // apply after the mixins; the last wins
};

/// One of the counts that a recipe's ranks are a list of.
struct Layout {
  int64_t ranks = 1;
  SourceRange range; // of the element
};

struct Request {
  const ast::File* file = nullptr;
  std::string recipe;              // must be declared in the file
  std::optional<size_t> point;     // of its sweep; nullopt: without the sweep
  std::optional<Layout> layout;    // nullopt: the first, if there are several
  std::vector<Override> overrides; // the last wins
  Changes changes;                 // apply after the overrides
};

/// Returns nullopt on any error. The errors are in the engine, or the loader
/// has reported them for a file.
std::optional<recipe::Recipe> analyze(const SourceMap& sources,
                                      const Request& request, Loader& loader,
                                      diag::Engine& engine);

/// The names of the recipes that a file declares, in file order.
std::vector<std::string> recipeNames(const ast::File& file);
/// The recipes that are not abstract, each name once.
std::vector<const ast::RecipeDecl*> concreteRecipes(const ast::File& file);
/// The first recipe of that name; nullptr when there is none.
const ast::RecipeDecl* findRecipe(const ast::File& file, std::string_view name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_ANALYZE_H
