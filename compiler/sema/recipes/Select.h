// Selects what a command compiles: recipes of a file, and points of a sweep.
//
// `FILE` names all recipes, `FILE:NAME` one recipe with its points, and
// `FILE:NAME@optimizer.lr=1e-5` one point. A recipe or point whose
// `cluster.ranks` is a list stands for its layouts.

#ifndef RECIPEC_SEMA_RECIPES_SELECT_H
#define RECIPEC_SEMA_RECIPES_SELECT_H

#include "compiler/sema/recipes/Analyze.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::sema {

/// How much a command can compile at once.
enum class Extent {
  file,   // every recipe, every point
  recipe, // one recipe, every point
  launch, // one recipe, and one point and layout if it has several
};

struct Naming {
  const ast::File* file = nullptr;
  std::string recipe; // empty: not named
  std::string point;  // the text after `@`; empty: not named
  std::vector<Override> overrides;
  SourceRange fileRange;   // of the file on the command line
  SourceRange recipeRange; // where the user named it, if given
  SourceRange pointRange;
};

/// A recipe that can be launched, a point of its sweep, or a layout of one of
/// these.
struct Selection {
  std::string recipe;                // as it is declared
  std::optional<size_t> point;       // its number in the sweep
  std::string name;                  // `sft`, `sft@optimizer.lr=1e-5`
  bool isBroken = false;             // its sweep has reported errors
  std::optional<Layout> layout = {}; // one of several of an elastic run
  std::string run = {};              // the name without the layout

  bool isOneOfMany() const { return point || layout; }
};

/// The recipes and points that the naming selects, in file order, without
/// abstract recipes. Returns nullopt, with diagnostics, when it selects none or
/// too many. A file without recipes is an empty selection for Extent::file. A
/// recipe with a broken sweep is selected without its points, so that its other
/// errors are found too.
std::optional<std::vector<Selection>> select(const SourceMap& sources,
                                             const Naming& naming,
                                             Extent extent, Loader& loader,
                                             diag::Engine& engine);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_SELECT_H
