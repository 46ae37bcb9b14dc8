// Graph → Program: gives every value a sharding and inserts collectives.

#ifndef RECIPEC_PASSES_SHARD_SHARD_H
#define RECIPEC_PASSES_SHARD_SHARD_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::passes {

/// How a layer's attention reads the part of the sequence that other ranks
/// hold. The ranks of the degree `heads` exchange heads for tokens. Along the
/// other ranks of `cp`, keys and values pass around a ring or are all-gathered.
struct SequenceExchange {
  std::string heads; // the degree; empty: no exchange
  bool isRing = false;
};

/// The degrees that split the dimensions.
struct Layout {
  /// Dimension name → degree, for every value with the dimension: `batch` → dp,
  /// `sequence` → cp, `heads`, `kv_heads`, `mamba_groups`, `ffn`, `vocab` → tp.
  std::vector<std::pair<std::string, std::string>> dims;
  /// The same for the residual stream only, that is for activations that no
  /// entry of `dims` splits along these axes: `sequence` → tp under sequence
  /// parallelism.
  std::vector<std::pair<std::string, std::string>> residual;
  /// One per layer, or a single one for all layers.
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

/// The layout of the recipe's `parallel` settings.
Layout layoutOf(const recipe::Recipe& recipe);

/// The dimensions of a module that a layout's entries split by a degree, in the
/// order of the entries.
std::vector<ir::DimId>
splitDims(const ir::Module& module,
          const std::vector<std::pair<std::string, std::string>>& entries,
          std::string_view degree);

/// For each dimension of the module, by its id, the axes that split it. Axes
/// with one rank split nothing.
struct DimAxes {
  std::vector<ir::AxisSet> everywhere;
  std::vector<ir::AxisSet> residual;
};
DimAxes resolve(const ir::Module& module, const Layout& layout);

/// Turns the Graph into a Program. The Graph must have passed
/// checkDivisibility.
void shard(ir::Module& module, const Layout& layout);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SHARD_SHARD_H
