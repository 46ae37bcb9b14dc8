// Matmul operands in 16 bits from vectors of the pages' elements, in registers.
//
// Pages in bf16 give operands in bf16, those in 8 bits operands in fp16.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEOPERANDS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEOPERANDS_CUH

#include "runtime/kernels/attention/PageElements.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"

#include <type_traits>

namespace reciperun::kernels::cuda {

/// The type of operands from pages of P.
template <class P>
using PageOperand = std::conditional_t<isScaled<P>, __half, Bf16>;

/// Elements 4 i to 4 i + 3 of a row, in order.
template <class P>
__device__ __forceinline__ ElementPairs neighbours(const uint32_t* row, int i) {
  if constexpr (isScaled<P>)
    return widenPairs<P>(row[i]);
  else
    return {row[2 * i], row[2 * i + 1]};
}

/// Elements 2 i of two rows, and their elements 2 i + 1.
template <class P>
__device__ __forceinline__ ElementPairs across(const uint32_t* upper,
                                               const uint32_t* lower, int i) {
  if constexpr (isScaled<P>)
    return widenPairs<P>(
        __byte_perm(upper[i / 2], lower[i / 2], i % 2 ? 0x7362u : 0x5140u));
  else
    return {__byte_perm(upper[i], lower[i], 0x5410u),
            __byte_perm(upper[i], lower[i], 0x7632u)};
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEOPERANDS_CUH
