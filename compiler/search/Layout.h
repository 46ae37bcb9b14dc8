// A point in the search space: how a training recipe is distributed over its
// ranks, and which activations it keeps.

#ifndef RECIPEC_SEARCH_LAYOUT_H
#define RECIPEC_SEARCH_LAYOUT_H

#include "compiler/recipe/Recipe.h"
#include "compiler/search/Outcome.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recipec::search {

/// Which activations are kept for the backward pass (`memory` of a recipe).
struct Activations {
  std::string recompute = "none";        // `memory.recompute`
  std::vector<std::string> modules = {}; // of "selective"
  std::optional<int64_t> layers = {}; // number of recomputed layers; none: all
  int64_t offloadLayers = 0;

  bool operator==(const Activations&) const = default;
};

/// How the layers are divided among pipeline chunks (`parallel.layers`).
struct Split {
  bool embeddingAsLayer = false;
  bool lossAsLayer = false;
  /// The layers of each chunk, in the order of the model; none: equal shares.
  std::optional<std::vector<int64_t>> layers = {};

  bool operator==(const Split&) const = default;
};

struct Layout {
  int64_t tp = 1, cp = 1, pp = 1, vp = 1, ep = 1, etp = 1;
  int64_t micro = 1;               // sequences
  std::string shard = "optimizer"; // `parallel.shard`
  Activations activations = {};
  Split split = {};

  bool operator==(const Layout&) const = default;

  /// Ranks that share one replica of the model.
  int64_t modelRanks() const { return cp * tp * pp; }
  int64_t dp(int64_t ranks) const { return ranks / modelRanks(); }
};

/// The layout of a recipe as it is written.
struct WrittenLayout {
  Layout layout;
  bool setsDp = false; // whether the recipe sets `parallel.dp`
  bool setsSchedule = false;
};

/// `recipe` must train.
WrittenLayout layoutOf(const recipe::Recipe& recipe);

/// The settings that turn the written layout into the other one.
Settings settingsFor(const Layout& layout, const WrittenLayout& written);

/// `[4] * 15 + [1]`: the list in the syntax of recipes.
std::string layersText(const std::vector<int64_t>& layers);

} // namespace recipec::search

#endif // RECIPEC_SEARCH_LAYOUT_H
