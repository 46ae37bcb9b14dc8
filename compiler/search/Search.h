// Searches for the layout with the shortest step that fits in memory.

#ifndef RECIPEC_SEARCH_SEARCH_H
#define RECIPEC_SEARCH_SEARCH_H

#include "compiler/recipe/Recipe.h"
#include "compiler/search/Layout.h"
#include "compiler/search/Outcome.h"

#include <functional>
#include <optional>
#include <vector>

namespace recipec::search {

/// A layout that was compiled with all layers.
struct Trial {
  Layout layout;
  Settings settings; // that turn the written layout into it
  Outcome outcome;
};

struct Progress {
  double done = 0;        // fraction of the work
  size_t compiled = 0;    // compilations so far, including samples
  double bestSeconds = 0; // of the best layout that fits; 0: none
};

struct Result {
  std::vector<Trial> best;      // layouts that fit, the fastest first
  std::optional<Trial> nearest; // if none fits: the one that takes the least
  size_t predicted = 0;         // number of predicted layouts
  size_t samples = 0;           // compilations of few layers
  size_t compiled = 0;          // compilations in full
};

/// `written` is the outcome of compiling `recipe` as it is; the recipe must
/// train. Calls `report` after each batch of compilations. The budget counts
/// ops instead of time, so the result is the same on every machine.
Result search(const recipe::Recipe& recipe, const Outcome& written,
              const Compile& compile,
              const std::function<void(const Progress&)>& report);

} // namespace recipec::search

#endif // RECIPEC_SEARCH_SEARCH_H
