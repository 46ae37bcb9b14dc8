// The three sizes of a linear op's product, for both kinds of device.
//
// Operands may group dimensions as they like ([b,s,heads,width] for [tokens,
// heads * width]), so that the sizes follow from the elements alone: x has t k,
// w has n k, y has t n, hence t^2 = x y / w.

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

  /// Of x [t,k], w [n,k] and y [t,n].
  static LinearSizes of(const device::Tensor& x, const device::Tensor& w,
                        const device::Tensor& y) {
    // x / w = t / n, and t / n times y = t n is t^2: exact in long double,
    // whose mantissa holds 64 bits, up to a rounding that the root halves.
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
