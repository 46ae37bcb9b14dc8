// The second phase: syntax trees to an evaluated, typed recipe.
//
// 1. Find the recipe and what it amends; put overrides on top.
// 2. Evaluate its fields in the order of stdlib/schema, each lazily, so that a
//    derived field follows whatever was overridden; check types, units and
//    `require` conditions.
// 3. Trace the model's `forward` into a Dataflow.
// Every mistake is one diagnostic; values that could not be computed are poison
// and never cause another.

#ifndef RECIPEC_SEMA_ANALYZE_H
#define RECIPEC_SEMA_ANALYZE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/sema/Loader.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::sema {

/// An assignment that wins over the recipe's own: a `--set`, or what the driver
/// sets to compile a second plan of the same recipe. Messages about it show its
/// own source. `value` is an expression of `file`.
struct Override {
  const ast::File* file = nullptr;
  std::vector<ast::Name> path;
  ast::ExprId value = ast::ExprId::none;
};

struct Request {
  const ast::File* file = nullptr;
  std::string recipe;              // empty: the last of the file
  std::vector<Override> overrides; // the last wins
};

/// None when anything is wrong; the engine then holds the errors.
std::optional<recipe::Recipe> analyze(const SourceMap& sources,
                                      const Request& request, Loader& loader,
                                      diag::Engine& engine);

/// The recipes that a file declares, in its order.
std::vector<std::string> recipeNames(const ast::File& file);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_ANALYZE_H
