// Which elements of an fp8 matrix share a scale, and how the scales are laid
// out: the attribute `blocks` of `quantize` (ops/quantization.ops), as the
// compiler, the validation and the kernels read it.

#ifndef RECIPERUN_SIZES_SCALEBLOCKS_H
#define RECIPERUN_SIZES_SCALEBLOCKS_H

#include "runtime/ops/DType.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reciperun::sizes {

enum class ScaleBlocks { tensor, wholeRows, rows, squares, mx };

/// Parses the attribute's value. Returns `tensor` for an empty value, which
/// means that the attribute is absent, and nullopt for an unknown one.
std::optional<ScaleBlocks> findScaleBlocks(std::string_view word);

/// Like findScaleBlocks, for an op of a validated plan.
ScaleBlocks scaleBlocksOf(std::string_view word);

/// The side of a block of `squares` and the length of a block of `rows`, in
/// elements.
inline constexpr int64_t scaleBlockWidth = 128;
/// The length of a block of `mx`, in elements.
inline constexpr int64_t mxBlockWidth = 32;

/// A tile of `mx` scales covers 128 rows and 4 blocks of each row.
inline constexpr int64_t mxTileRows = 128, mxTileBlocks = 4;
inline constexpr int64_t mxTileBytes = mxTileRows * mxTileBlocks;

/// The offset of a scale in its tile, from the row and the block in the tile
/// ("1D block scaling factors layout" of cuBLAS).
constexpr int64_t mxPlaceInTile(int64_t row, int64_t block) {
  return row % 32 * 16 + row / 32 * 4 + block;
}

/// Type and shape of the scales of a rows x columns matrix.
struct Scales {
  ops::DType type;
  std::vector<int64_t> shape;
};
Scales scalesOf(ScaleBlocks blocks, int64_t rows, int64_t columns);

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_SCALEBLOCKS_H
