// The facts about a recipe, besides its layout, that a search needs.

#ifndef RECIPEC_SEARCH_FACTS_H
#define RECIPEC_SEARCH_FACTS_H

#include "compiler/recipe/Recipe.h"
#include "compiler/search/Layout.h"

#include <cstdint>
#include <vector>

namespace recipec::search {

/// Two depths of a model that differ by `deep - shallow` typical layers. Both
/// are the full depth if the layers have no common pattern.
struct Depths {
  int64_t shallow = 0;
  int64_t deep = 0;

  bool areApart() const { return deep > shallow; }
};

struct Facts {
  int64_t ranks = 1;
  int64_t ranksPerNode = 1;
  int64_t linkRanks = 1;   // of an NVLink domain
  int64_t globalBatch = 1; // sequences
  int64_t sequence = 1;    // tokens
  int64_t layers = 0;      // 0: the model does not count them
  int64_t experts = 0;     // 0: none
  int64_t expertFfn = 1;
  int64_t shardInstances = 1;
  int64_t headsGroup = 1; // `parallel.cp_a2a` as written
  bool hasLatentAttention = false;
  Depths depths = {};

  int64_t accumulation(const Layout& layout) const {
    return globalBatch / (layout.micro * layout.dp(ranks));
  }
};

Facts factsOf(const recipe::Recipe& recipe);

/// Whether `parallel` and `batch` allow the degrees: the rules of
/// std/schema/parallel.recipe and batch.recipe, except those on dimensions of
/// tensors, which compilations check.
bool isLegal(const Facts& facts, const Layout& layout);

/// Splits of the layers into `chunks` chunks that balance the stages: equal
/// chunks, where the loss or also the embedding may count as layers. If there
/// are none, lists with smaller chunks at the end.
std::vector<Split> splitsOf(int64_t layers, int64_t chunks);

/// The layers of each chunk under a split, in the order of the model.
std::vector<int64_t> chunkLayers(const Facts& facts, const Layout& layout);

} // namespace recipec::search

#endif // RECIPEC_SEARCH_FACTS_H
