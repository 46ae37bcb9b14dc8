// The rows of an embedding table that a rank holds, for CPUs and GPUs.

#ifndef RECIPERUN_KERNELS_DENSE_EMBEDDINGROWS_H
#define RECIPERUN_KERNELS_DENSE_EMBEDDINGROWS_H

#include "runtime/device/Tensor.h"

#include "runtime/ops/DenseOps.h"

#include <cstdint>

namespace reciperun::kernels {

/// A table's rows on this rank, and the mapping from tokens to these rows.
struct EmbeddingRows {
  const int32_t* tokens;
  int64_t count; // of tokens
  int64_t width; // of a row
  int64_t rows;  // on this rank
  int64_t first; // the token of row 0

  /// The table is the rank's shard along the axis that the op names, if any.
  /// `values` has a row for each token.
  template <class Args>
  static EmbeddingRows of(const Args& args, const device::Tensor& tokens,
                          const device::Tensor& values,
                          const device::Tensor& table) {
    EmbeddingRows rows;
    rows.tokens = tokens.as<int32_t>();
    rows.count = tokens.elements();
    rows.width = values.shape.back();
    rows.rows = table.elements() / rows.width;
    rows.first =
        rows.rows *
        args.coordinate(ops::EmbeddingAttributes(args.op.attributes).axis);
    return rows;
  }

  /// The row of token number `place`, -1 if another rank holds it.
  constexpr int64_t rowOf(int64_t place) const {
    const int64_t row = tokens[place] - first;
    return row >= 0 && row < rows ? row : -1;
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_EMBEDDINGROWS_H
