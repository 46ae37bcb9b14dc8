// Loops over all elements of tensors of one shape.

#ifndef RECIPERUN_KERNELS_COMMON_ELEMENTWISE_H
#define RECIPERUN_KERNELS_COMMON_ELEMENTWISE_H

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Types.h"

#include <cassert>

namespace reciperun::kernels {

/// Below this number of elements a second thread costs more than it saves.
inline constexpr int64_t elementGrain = 8192;

/// y[i] = function(x[i]) in Math<T>; y may be x.
template <class T, class Function>
void mapElements(const device::KernelArgs& args, const device::Tensor& x,
                 const device::Tensor& y, Function function) {
  assert(x.elements() == y.elements() && "an elementwise op keeps the shape");
  const T* from = x.as<T>();
  T* to = y.as<T>();
  device::parallelFor(args.context.threads(), y.elements(), elementGrain,
                      [=](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i)
                          to[i] = T(function(Math<T>(from[i])));
                      });
}

/// y[i] = function(a[i], b[i]) in Math<T>; y may be a or b.
template <class T, class Function>
void mapElements(const device::KernelArgs& args, const device::Tensor& a,
                 const device::Tensor& b, const device::Tensor& y,
                 Function function) {
  assert(a.elements() == y.elements() && b.elements() == y.elements() &&
         "an elementwise op keeps the shape");
  const T* left = a.as<T>();
  const T* right = b.as<T>();
  T* to = y.as<T>();
  device::parallelFor(args.context.threads(), y.elements(), elementGrain,
                      [=](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i)
                          to[i] =
                              T(function(Math<T>(left[i]), Math<T>(right[i])));
                      });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ELEMENTWISE_H
