// Matmuls of a few rows of x with a quantized weight: the inner loops of
// `quantized_linear` on a CPU. They read the weight once, dequantize it in
// registers and accumulate in f32.
//
// There is one set of loops for each instruction set, chosen at run time. Each
// takes x in an order of its own, so that dequantizing needs no shuffles. The
// result of a row depends on neither the other rows nor their number.

#ifndef RECIPERUN_KERNELS_DENSE_QUANTIZEDROWS_H
#define RECIPERUN_KERNELS_DENSE_QUANTIZEDROWS_H

#include "runtime/ops/DType.h"
#include "runtime/sizes/WeightScales.h"

#include <cstdint>
#include <vector>

namespace reciperun::kernels {

/// Rows of x that a call of the loops takes at most.
inline constexpr int64_t rowsAtOnce = 8;
/// Outputs that a call of the loops computes at most.
inline constexpr int64_t outputsAtOnce = 64;

/// A weight [n,k] and its scales.
struct QuantizedWeight {
  sizes::WeightFormat format;
  const uint8_t* data; // [n, stored width of k]
  int64_t n, k;
  const float* scales;
  sizes::WeightScales kind;

  int64_t rowBytes() const { return sizes::storedWidth(format, k); }
  int64_t groups() const {
    return (k + sizes::weightGroup - 1) / sizes::weightGroup;
  }
  /// Whether a row has a scale for each group of its elements.
  bool isGrouped() const {
    return kind == sizes::WeightScales::groups ||
           kind == sizes::WeightScales::squares;
  }
  /// The scales of a row: one for each group, or a single one.
  const float* scalesOf(int64_t row) const {
    switch (kind) {
    case sizes::WeightScales::tensor:
      return scales;
    case sizes::WeightScales::rows:
      return scales + row;
    case sizes::WeightScales::groups:
      return scales + row * groups();
    case sizes::WeightScales::squares:
      return scales + row / sizes::weightGroup * groups();
    }
    return scales;
  }
};

/// The operands of a call: `rows` prepared rows of x times the weight rows
/// [first, first + count).
struct QuantizedBlock {
  const QuantizedWeight* weight;
  /// Rows of whole groups, in the path's order and type, padded with zeros;
  /// `stride` elements apart. Rows up to the next power of two are readable.
  const void* x;
  int64_t stride;
  int64_t rows; // 1 to rowsAtOnce
  int64_t first, count;
  float* sums; // [rows rounded up to a power of two, outputsAtOnce]
};

/// The loops for one instruction set.
struct RowsPath {
  const char* name;
  ops::DType xType; // of prepared rows: f32 or bf16
  /// order[i] is the element of a group of x that is prepared as its i-th.
  const uint8_t* (*order)(sizes::WeightFormat format);
  void (*multiply)(const QuantizedBlock& block);
};

/// The paths that this processor runs, the fastest first. The last one is
/// portable.
const std::vector<RowsPath>& rowsPaths();
/// The fastest path for x of type `type`, f32 or bf16.
const RowsPath& rowsPathFor(ops::DType type);

namespace portable {
extern const RowsPath path;
}
#ifdef __x86_64__
namespace avx2 {
extern const RowsPath path;
}
namespace avx512 {
extern const RowsPath path;
}
namespace avx512bf16 {
extern const RowsPath path;
}
#endif

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_QUANTIZEDROWS_H
