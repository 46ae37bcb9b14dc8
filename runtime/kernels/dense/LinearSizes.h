// The three sizes of a linear op's matmul, for CPUs and GPUs.
//
// Operands may group dimensions in any way ([b,s,heads,width] for [tokens,
// heads * width]), so the sizes follow only from the number of elements: x has
// t k, w has n k, y has t n, hence t^2 = x y / w.

#ifndef RECIPERUN_KERNELS_DENSE_LINEARSIZES_H
#define RECIPERUN_KERNELS_DENSE_LINEARSIZES_H

#include "runtime/device/Tensor.h"

#include <cassert>
#include <cmath>
#include <cstdint>

namespace reciperun::kernels {

struct LinearSizes {
  int64_t tokens = 0; // t
  int64_t out = 0;    // n
  int64_t in = 0;     // k

  /// The sizes for x [t,k], w [n,k] and y [t,n].
  static LinearSizes of(const device::Tensor& x, const device::Tensor& w,
                        const device::Tensor& y) {
    // x / w = t / n, and t / n times y = t n is t^2. Long double has a mantissa
    // of 64 bits, so this is exact up to a rounding error that the root halves.
    const long double square =
        (long double)(x.elements()) / w.elements() * y.elements();
    LinearSizes sizes;
    sizes.tokens = std::llround(std::sqrt(square));
    sizes.in = x.elements() / sizes.tokens;
    sizes.out = y.elements() / sizes.tokens;
    assert(sizes.in * sizes.out == w.elements() &&
           "a linear's operands agree in size");
    return sizes;
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_LINEARSIZES_H
