// Graph → Program: every value gets a sharding, collectives stand between.

#ifndef RECIPEC_PASSES_SHARD_SHARD_H
#define RECIPEC_PASSES_SHARD_SHARD_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::passes {

/// How a layer's attention sees the other ranks' part of the sequence: heads
/// are exchanged for tokens along a degree, and along what it leaves of `cp`
/// keys go round or are gathered.
struct SequenceExchange {
  std::string heads; // the degree; empty: heads stay where they are
  bool isRing = false;
};

/// Which degrees split which dimensions.
struct Layout {
  /// Dimension name → degree, wherever the dimension occurs: `batch` → dp,
  /// `sequence` → cp, `heads`, `kv_heads`, `mamba_groups`, `ffn`, `vocab` → tp.
  std::vector<std::pair<std::string, std::string>> dims;
  /// The same for the residual stream alone, that is for activations that no
  /// entry of `dims` splits along its axes: `sequence` → tp under sequence
  /// parallelism.
  std::vector<std::pair<std::string, std::string>> residual;
  /// By layer; or one for all of them.
  std::vector<SequenceExchange> exchanges = {{}};
  SourceRange exchangesRange; // of the setting in the user's text

  bool hasExchange(int layer) const {
    return exchanges.size() == 1 ||
           (layer >= 0 && size_t(layer) < exchanges.size());
  }
  const SequenceExchange& exchangeOf(int layer) const {
    return exchanges[exchanges.size() == 1 ? 0 : size_t(layer)];
  }
};

/// The layout that `parallel` asks for.
Layout layoutOf(const recipe::Recipe& recipe);
/// The layout of one rank: nothing is split.
Layout wholeLayout();

/// The dimensions of a module that entries of a layout split by a degree, in
/// the order of the entries.
std::vector<ir::DimId>
splitDims(const ir::Module& module,
          const std::vector<std::pair<std::string, std::string>>& entries,
          std::string_view degree);

/// For each dimension of the module, by its number, the axes of the layout
/// that split it; axes of one rank split nothing.
struct DimAxes {
  std::vector<ir::AxisSet> everywhere;
  std::vector<ir::AxisSet> residual;
};
DimAxes resolve(const ir::Module& module, const Layout& layout);

/// Makes the Graph a Program. The Graph must have passed checkDivisibility.
void shard(ir::Module& module, const Layout& layout);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SHARD_SHARD_H
