// A row of the operand `draws` of `sample` (ops/sampling.ops).

#ifndef RECIPERUN_SIZES_DRAWNUMBERS_H
#define RECIPERUN_SIZES_DRAWNUMBERS_H

#include <cstdint>

namespace reciperun::sizes {

/// The indices of the numbers in a row.
enum DrawNumber {
  drawTemperature,
  drawTopK,
  drawTopP,
  drawMinP,
  drawUniform,
};
inline constexpr int64_t drawNumbers = drawUniform + 1;

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_DRAWNUMBERS_H
