// What a command compiles: the recipes of a file, and the points of a sweep.
//
// `FILE` names all of them, `FILE:NAME` one recipe with its points, and
// `FILE:NAME@optimizer.lr=1e-5` one point.

#ifndef RECIPEC_SEMA_RECIPES_SELECT_H
#define RECIPEC_SEMA_RECIPES_SELECT_H

#include "compiler/sema/recipes/Analyze.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::sema {

/// How much a command can take.
enum class Extent {
  file,   // every recipe, every point
  recipe, // one recipe, every point
  launch, // one recipe, and of a sweep one point
};

struct Naming {
  const ast::File* file = nullptr;
  std::string recipe; // empty: not named
  std::string point;  // behind the `@`; empty: not named
  std::vector<Override> overrides;
  SourceRange recipeRange; // where the user named it, if he did
  SourceRange pointRange;
};

/// A recipe that can be launched, or a point of its sweep.
struct Selection {
  std::string recipe;          // as it is declared
  std::optional<size_t> point; // its number in the sweep
  std::string name;            // `sft`, `sft@optimizer.lr=1e-5`
  bool isBroken = false;       // its sweep is, as reported
};

/// What the naming selects, in the order of the file: no abstract recipes.
/// Nothing, with diagnostics, where it names none or too many; a file without
/// recipes is an empty selection for Extent::file. A recipe with a broken sweep
/// is selected without its points, so that what else is wrong is found too.
std::optional<std::vector<Selection>> select(const SourceMap& sources,
                                             const Naming& naming,
                                             Extent extent, Loader& loader,
                                             diag::Engine& engine);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_SELECT_H
