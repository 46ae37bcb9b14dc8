// Graph → Program: every value gets a sharding, collectives stand between.

#ifndef RECIPEC_PASSES_SHARD_H
#define RECIPEC_PASSES_SHARD_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::passes {

/// Which degrees split which dimensions.
struct Layout {
  /// Dimension name → degree, wherever the dimension occurs: `batch` → dp,
  /// `sequence` → cp, `heads`, `kv_heads`, `ffn`, `vocab` → tp.
  std::vector<std::pair<std::string, std::string>> dims;
  /// The same for the residual stream alone, that is for activations that no
  /// entry of `dims` splits along its axes: `sequence` → tp under sequence
  /// parallelism.
  std::vector<std::pair<std::string, std::string>> residual;
  /// Whether keys go round the ranks that share a sequence, or are gathered;
  /// along the axes of `cp_a2a` heads are exchanged in either case.
  bool isRing = false;
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

#endif // RECIPEC_PASSES_SHARD_H
