// The rows of a norm, each normalised independently. A token has one row if the
// weight covers only the last dimension or is absent; otherwise it has one row
// for each row of the weight.

#ifndef RECIPERUN_KERNELS_COMMON_NORMROWS_H
#define RECIPERUN_KERNELS_COMMON_NORMROWS_H

#include "runtime/device/Tensor.h"

#include <cstdint>

namespace reciperun::kernels {

/// x [tokens, perToken, width].
struct NormRows {
  NormRows(const device::Tensor& x, const device::Tensor& weight)
      : width(x.shape.back()),
        perToken(weight.present() ? weight.elements() / width : 1),
        tokens(x.elements() / width / perToken) {}

  /// Calls body(row, j) for each row of the tokens [begin, end). `j` is the
  /// offset of the row's weight in the weight of a token.
  template <class Body> void of(int64_t begin, int64_t end, Body&& body) const {
    for (int64_t token = begin; token < end; ++token)
      for (int64_t i = 0; i < perToken; ++i)
        body(token * perToken + i, i * width);
  }

  int64_t width, perToken, tokens;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_NORMROWS_H
