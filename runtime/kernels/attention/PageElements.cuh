// Elements of pages of keys and values in registers, and rows of pages in 8
// bits; see PageRows.h.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEELEMENTS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEELEMENTS_CUH

#include "runtime/kernels/common/Vectors.cuh"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <cuda_fp8.h>

namespace reciperun::kernels::cuda {

/// Whether rows of P have scales.
template <class P> inline constexpr bool isScaled = sizeof(P) == 1;

/// The largest number of P, which a scale maps a row's maximum to.
template <class P>
inline constexpr float largestOfPage =
    std::is_same_v<P, __nv_fp8_e4m3> ? 448 : 127;

/// The floats of four bytes: bytes of f8e4m3, or integers.
template <class P>
__device__ __forceinline__ void widenWord(uint32_t word, float* to) {
  if constexpr (std::is_same_v<P, __nv_fp8_e4m3>) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(
          __nv_fp8x2_storage_t(word >> (8 * i)), __NV_E4M3);
      const float2 both = __half22float2(__half2(pair));
      to[i] = both.x;
      to[i + 1] = both.y;
    }
  } else {
    // The mantissa of 2^23 + n has n in its low bits: cheaper than a
    // conversion.
    const uint32_t positive = word ^ 0x80808080u; // n + 128
    constexpr float offset = 0x1p23f + 128;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i)
      to[i] = __uint_as_float(__byte_perm(positive, 0x4b000000u, 0x7440u | i)) -
              offset;
  }
}

/// n neighbouring elements of a row in 8 bits, without its scale.
template <class P, int n> struct WidenedElements {
  float elements[n];

  __device__ float operator[](int i) const { return elements[i]; }

  __device__ static WidenedElements load(const P* from) {
    WidenedElements made;
    if constexpr (n % 4 == 0) {
      const auto stored = Vector<P, n>::load(from);
      const auto* const words =
          reinterpret_cast<const uint32_t*>(stored.elements);
#pragma unroll
      for (int i = 0; i < n / 4; ++i)
        widenWord<P>(words[i], made.elements + 4 * i);
    } else {
#pragma unroll
      for (int i = 0; i < n; ++i)
        made.elements[i] = float(from[i]);
    }
    return made;
  }
};

template <class P, int n>
using PageElements =
    std::conditional_t<isScaled<P>, WidenedElements<P, n>, Vector<P, n>>;

/// Writes 16 bytes of bf16: elements of a row in 8 bits times its scale.
template <class P>
__device__ __forceinline__ void widenChunk(const P* from, float scale,
                                           __nv_bfloat16* to) {
  constexpr int n = vectorLength<__nv_bfloat16>;
  const auto elements = WidenedElements<P, n>::load(from);
  float made[n];
#pragma unroll
  for (int i = 0; i < n; ++i)
    made[i] = elements[i] * scale;
  rounded<__nv_bfloat16>(made).store(to);
}

/// The number of a value that has been divided by its scale.
template <class P> __device__ P numberOf(float value) {
  if constexpr (std::is_same_v<P, __nv_fp8_e4m3>)
    return __nv_fp8_e4m3(value); // saturates
  else
    return int8_t(__float2int_rn(fminf(fmaxf(value, -127.0f), 127.0f)));
}

/// Writes the numbers of a row and returns its scale. All lanes of a warp call
/// it.
template <class P, class T>
__device__ float storeRow(const T* from, int width, P* to) {
  const int lane = int(threadIdx.x) % 32;
  float most = 0;
  for (int i = lane; i < width; i += 32) {
    const float magnitude = fabsf(float(from[i]));
    // NaN counts as infinity.
    most = magnitude <= INFINITY ? fmaxf(most, magnitude) : INFINITY;
  }
#pragma unroll
  for (int far = 16; far; far /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, far));
  float scale = most / largestOfPage<P>;
  if (scale < 0x1p-126f)
    scale = 1;
  if (most == INFINITY)
    scale = NAN;
  for (int i = lane; i < width; i += 32)
    to[i] = numberOf<P>(float(from[i]) / scale);
  return scale;
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEELEMENTS_CUH
