// The forward of an RMSNorm's row on a CPU, and its weights; see RmsNorm.cpp.

#ifndef RECIPERUN_KERNELS_NORM_RMSNORMROW_H
#define RECIPERUN_KERNELS_NORM_RMSNORMROW_H

#include "runtime/device/Tensor.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/NormOps.h"

#include <cmath>
#include <cstdint>

namespace reciperun::kernels::rmsnorm {

/// The weight of each element, in Math<T>. `from` returns the weight of a later
/// row.
template <class T> struct Stored {
  const T* w;
  Math<T> operator()(int64_t j) const { return Math<T>(w[j]); }
  Stored from(int64_t j) const { return {w + j}; }
};
template <class T> struct Centered {
  const T* w;
  Math<T> operator()(int64_t j) const { return Math<T>(1) + Math<T>(w[j]); }
  Centered from(int64_t j) const { return {w + j}; }
};
template <class T> struct Ones {
  Math<T> operator()(int64_t) const { return Math<T>(1); }
  Ones from(int64_t) const { return {}; }
};

/// Calls body(weight) for the weight `w` of an op with an RMSNorm's attributes.
template <class T, class Body>
void withWeight(const device::KernelArgs& args, const device::Tensor& w,
                Body body) {
  if (!w.present())
    return body(Ones<T>());
  if (ops::RmsNormAttributes(args.op.attributes).centered)
    return body(Centered<T>{w.as<T>()});
  body(Stored<T>{w.as<T>()});
}

/// Writes the normalised row and returns 1 / sqrt(mean(x^2) + eps).
template <class T, class Weight>
Math<T> forwardRow(int64_t width, double eps, const T* x, Weight w, T* y) {
  using M = Math<T>;
  M squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < width; ++j)
    squares += M(x[j]) * M(x[j]);
  const M rstd = M(1) / std::sqrt(squares / M(width) + M(eps));
#pragma omp simd
  for (int64_t j = 0; j < width; ++j)
    y[j] = T(M(x[j]) * rstd * w(j));
  return rstd;
}

} // namespace reciperun::kernels::rmsnorm

#endif // RECIPERUN_KERNELS_NORM_RMSNORMROW_H
