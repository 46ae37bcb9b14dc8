// The sigmoid and the sigmoid linear unit of one number.

#ifndef RECIPERUN_KERNELS_ACTIVATION_SILU_H
#define RECIPERUN_KERNELS_ACTIVATION_SILU_H

#include "runtime/kernels/common/Exponential.h"

namespace reciperun::kernels {

/// 1 / (1 + e^-x).
template <class M> M sigmoid(M x) {
  return M(1) / (M(1) + exponential(-x));
}

/// x / (1 + e^-x).
template <class M> M silu(M x) {
  return x / (M(1) + exponential(-x));
}

/// The derivative of silu: s (1 + x (1 - s)) with s the sigmoid of x.
template <class M> M siluSlope(M x) {
  const M s = sigmoid(x);
  return s * (M(1) + x * (M(1) - s));
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ACTIVATION_SILU_H
