// What of a matrix in 8 bits has a scale, and how scales lie: the attribute
// `blocks` of `quantize` (ops/quantization.ops), as compiler, validation and
// kernels read it.

#ifndef RECIPERUN_SIZES_SCALEBLOCKS_H
#define RECIPERUN_SIZES_SCALEBLOCKS_H

#include "runtime/ops/DType.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reciperun::sizes {

enum class ScaleBlocks { tensor, rows, squares, mx };

/// By its word in the description; `tensor` for an empty one, which is an
/// attribute that is absent; none for what is no such word.
std::optional<ScaleBlocks> findScaleBlocks(std::string_view word);

/// Of an op of a plan that has been validated.
ScaleBlocks scaleBlocksOf(std::string_view word);

/// The side of a square and the length of a block of `rows`, in elements.
inline constexpr int64_t scaleBlockWidth = 128;
/// The length of a block of `mx`.
inline constexpr int64_t mxBlockWidth = 32;

/// A tile of scales of `mx`: those of 128 rows, each of 4 blocks.
inline constexpr int64_t mxTileRows = 128, mxTileBlocks = 4;
inline constexpr int64_t mxTileBytes = mxTileRows * mxTileBlocks;

/// Where in its tile the scale is of a row and a block of the tile ("1D block
/// scaling factors layout" of cuBLAS).
constexpr int64_t mxPlaceInTile(int64_t row, int64_t block) {
  return row % 32 * 16 + row / 32 * 4 + block;
}

/// The scales of a matrix of these sizes.
struct Scales {
  ops::DType type;
  std::vector<int64_t> shape;
};
Scales scalesOf(ScaleBlocks blocks, int64_t rows, int64_t columns);

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_SCALEBLOCKS_H
