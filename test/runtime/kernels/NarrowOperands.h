// fp8 matrices and their scales, for tests on CPUs and GPUs.

#ifndef RECIPERUN_TEST_KERNELS_NARROWOPERANDS_H
#define RECIPERUN_TEST_KERNELS_NARROWOPERANDS_H

#include "test/runtime/kernels/Harness.h"

#include <string>

namespace reciperun::kernels {

inline int64_t blocksIn(int64_t count) {
  return (count + 127) / 128;
}

/// The outputs of quantizing a matrix [rows, columns].
struct NarrowOutputs {
  std::string blocks; // empty: "tensor"
  int64_t rows, columns;
  Array q, scale, qt, qtScale;

  NarrowOutputs(plan::DType type, const std::string& blocks, int64_t rows,
                int64_t columns)
      : blocks(blocks), rows(rows), columns(columns), q(type, {rows, columns}),
        scale(scaleFor(rows, columns)), qt(type, {columns, rows}),
        qtScale(scaleFor(columns, rows)) {}

  bool hasOneScale() const { return blocks.empty(); }
  bool canTurn() const { return blocks != "whole_rows"; }

  Attributes attributes() const {
    return hasOneScale() ? Attributes{} : Attributes{{"blocks", blocks}};
  }

  /// Pointers to the outputs of the requested layouts.
  std::vector<Array*> pointers(bool isPlain = true, bool isTurned = true,
                               Array* history = nullptr) {
    return {isPlain ? &q : nullptr, isPlain || hasOneScale() ? &scale : nullptr,
            isTurned ? &qt : nullptr,
            isTurned && !hasOneScale() ? &qtScale : nullptr, history};
  }

  /// Element (i, j), decoded from its fp8 value and its scale.
  double get(int64_t i, int64_t j) const {
    return q.get(i * columns + j) * scaleOf(scale, i, j);
  }
  double getTurned(int64_t i, int64_t j) const {
    return qt.get(j * rows + i) *
           scaleOf(hasOneScale() ? scale : qtScale, j, i);
  }
  double scaleOf(const Array& scales, int64_t i, int64_t j) const {
    if (hasOneScale())
      return scales.get(0);
    if (blocks == "whole_rows")
      return scales.get(i);
    const int64_t stride = scales.shape()[1];
    if (blocks == "mx")
      return scales.get(mxPlace(stride, i, j / 32));
    return blocks == "rows" ? scales.get(j / 128 * stride + i)
                            : scales.get(i / 128 * stride + j / 128);
  }

  /// The offset of the scale of a row's block, with `tiles` tiles per row.
  static int64_t mxPlace(int64_t tiles, int64_t row, int64_t block) {
    return (row / 128 * tiles + block / 4) * 512 + row % 32 * 16 +
           row % 128 / 32 * 4 + block % 4;
  }

private:
  Array scaleFor(int64_t height, int64_t width) const {
    std::vector<int64_t> shape = {1};
    if (blocks == "whole_rows")
      shape = {height};
    if (blocks == "rows")
      shape = {blocksIn(width), height};
    if (blocks == "squares")
      shape = {blocksIn(height), (blocksIn(width) + 3) / 4 * 4};
    if (blocks == "mx")
      return Array(plan::DType::f8e8m0,
                   {blocksIn(height), blocksIn(width), 32, 4, 4});
    return Array(plan::DType::f32, shape);
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_NARROWOPERANDS_H
