// The bytes of a row that `quantize_rows` makes (ops/quantization.ops), as the
// compiler, the validation and the kernels lay it out:
//
//   width elements in e4m3, zeros up to a multiple of 4 bytes,
//   a scale in f32 for each 128 elements, zeros up to a multiple of 16 bytes.
//
// Accesses of 16 bytes can copy whole rows, and scales are aligned.

#ifndef RECIPERUN_SIZES_NARROWROWS_H
#define RECIPERUN_SIZES_NARROWROWS_H

#include "runtime/sizes/ScaleBlocks.h"

#include <cstdint>

namespace reciperun::sizes {

struct NarrowRow {
  int64_t width; // in elements

  constexpr int64_t blocks() const {
    return width / scaleBlockWidth + (width % scaleBlockWidth != 0);
  }
  /// The offset of the scales in bytes.
  constexpr int64_t scales() const { return (width + 3) / 4 * 4; }
  /// The offset behind the scales.
  constexpr int64_t end() const { return scales() + 4 * blocks(); }
  constexpr int64_t bytes() const { return (end() + 15) / 16 * 16; }
};

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_NARROWROWS_H
