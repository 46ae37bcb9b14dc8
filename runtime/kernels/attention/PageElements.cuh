// Elements of pages of keys and values in registers, and rows of pages that are
// quantized to 8 bits; see PageRows.h.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEELEMENTS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEELEMENTS_CUH

#include "runtime/kernels/common/Vectors.cuh"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace reciperun::kernels::cuda {

/// Whether rows of P have scales.
template <class P> inline constexpr bool isScaled = sizeof(P) == 1;

/// The largest finite value of P. A row's scale maps the row's largest
/// magnitude to it.
template <class P>
inline constexpr float largestOfPage =
    std::is_same_v<P, __nv_fp8_e4m3> ? 448 : 127;

/// Two pairs of two-byte elements, the first of a pair in the lower half.
struct ElementPairs {
  uint32_t first, second;
};

/// Widens four bytes, f8e4m3 or integers, to fp16, which represents them
/// exactly.
template <class P>
__device__ __forceinline__ ElementPairs widenPairs(uint32_t word) {
  ElementPairs made;
  if constexpr (std::is_same_v<P, __nv_fp8_e4m3>) {
    asm("{\n"
        ".reg .b16 low, high;\n"
        "mov.b32 {low, high}, %2;\n"
        "cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "cvt.rn.f16x2.e4m3x2 %1, high;\n"
        "}"
        : "=r"(made.first), "=r"(made.second)
        : "r"(word));
  } else {
    // The mantissa of 2^10 + n has n in its low bits: cheaper than a
    // conversion.
    const uint32_t positive = word ^ 0x80808080u; // n + 128
    const auto widen = [&](uint32_t selector) {
      const uint32_t raised = __byte_perm(positive, 0x64646464u, selector);
      const __half2 both = __hsub2(*reinterpret_cast<const __half2*>(&raised),
                                   __float2half2_rn(1024 + 128));
      return *reinterpret_cast<const uint32_t*>(&both);
    };
    made = {widen(0x4140u), widen(0x4342u)};
  }
  return made;
}

/// Like widenPairs, but widens to floats.
template <class P>
__device__ __forceinline__ void widenWord(uint32_t word, float* to) {
  const ElementPairs pairs = widenPairs<P>(word);
  const float2 first =
      __half22float2(*reinterpret_cast<const __half2*>(&pairs.first));
  const float2 second =
      __half22float2(*reinterpret_cast<const __half2*>(&pairs.second));
  to[0] = first.x;
  to[1] = first.y;
  to[2] = second.x;
  to[3] = second.y;
}

/// n neighbouring elements of a row in 8 bits, not multiplied by its scale.
template <class P, int n> struct WidenedElements {
  float elements[n];

  __device__ float operator[](int i) const { return elements[i]; }

  __device__ static WidenedElements load(const P* from) {
    WidenedElements made;
    if constexpr (n % 4 == 0) {
      // Loads words: the compiler would assemble words from loaded bytes.
      const auto words = Vector<uint32_t, n / 4>::load(
          reinterpret_cast<const uint32_t*>(from));
#pragma unroll
      for (int i = 0; i < n / 4; ++i)
        widenWord<P>(words.elements[i], made.elements + 4 * i);
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

/// Dequantizes the eight elements of two words by their row's scale and writes
/// them as 16 bytes of bf16.
template <class P>
__device__ __forceinline__ void widenWords(const uint32_t* words, float scale,
                                           __nv_bfloat16* to) {
  constexpr int n = vectorLength<__nv_bfloat16>;
  float made[n];
#pragma unroll
  for (int i = 0; i < n / 4; ++i)
    widenWord<P>(words[i], made + 4 * i);
#pragma unroll
  for (int i = 0; i < n; ++i)
    made[i] *= scale;
  rounded<__nv_bfloat16>(made).store(to);
}

/// Quantizes values that are already multiplied by the inverse of their scale.
template <class P, int n>
__device__ Vector<P, n> numbersOf(const float (&values)[n]) {
  Vector<P, n> made;
  if constexpr (!std::is_same_v<P, __nv_fp8_e4m3>) {
#pragma unroll
    for (int i = 0; i < n; ++i)
      made.elements[i] =
          int8_t(__float2int_rn(fminf(fmaxf(values[i], -127.0f), 127.0f)));
  } else if constexpr (n % 4 == 0) {
    // One instruction converts two numbers.
    auto* const words = reinterpret_cast<uint32_t*>(made.elements);
#pragma unroll
    for (int i = 0; i < n; i += 4)
      asm("{\n"
          ".reg .b16 low, high;\n"
          "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
          "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
          "mov.b32 %0, {low, high};\n"
          "}"
          : "=r"(words[i / 4])
          : "f"(values[i]), "f"(values[i + 1]), "f"(values[i + 2]),
            "f"(values[i + 3]));
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      made.elements[i] = __nv_fp8_e4m3(values[i]); // saturates
  }
  return made;
}

/// The lanes of a warp that store a row, n elements each at a time: the fewest
/// that store it at once, or 32. A power of two.
template <int n> __device__ int storingLanes(int width) {
  int lanes = 32;
  while (lanes > 1 && lanes / 2 * n >= width)
    lanes /= 2;
  return lanes;
}

/// Writes a quantized row and returns its scale. Also writes the dequantized
/// row to `wide`, unless that is null. `lanes` neighbouring lanes share a row,
/// see storingLanes(); all lanes of a warp call it, those without a row with
/// width 0.
template <int n, class P, class T>
__device__ float storeRow(int lanes, const T* from, int width, P* to, T* wide) {
  const int lane = int(threadIdx.x) % lanes;
  float most = 0;
  for (int i = lane * n; i < width; i += lanes * n) {
    const auto values = Vector<T, n>::load(from + i);
#pragma unroll
    for (int e = 0; e < n; ++e) {
      const float magnitude = fabsf(values[e]);
      // NaN counts as infinity.
      most = magnitude <= INFINITY ? fmaxf(most, magnitude) : INFINITY;
    }
  }
  for (int far = lanes / 2; far; far /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, far));
  float scale = most / largestOfPage<P>;
  if (scale < 0x1p-126f)
    scale = 1;
  if (most == INFINITY)
    scale = NAN;
  const float inverse = 1 / scale;
  for (int i = lane * n; i < width; i += lanes * n) {
    const auto values = Vector<T, n>::load(from + i);
    float made[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      made[e] = values[e] * inverse;
    const Vector<P, n> numbers = numbersOf<P>(made);
    numbers.store(to + i);
    if (!wide)
      continue;
    const auto widened = WidenedElements<P, n>::load(numbers.elements);
#pragma unroll
    for (int e = 0; e < n; ++e)
      made[e] = widened[e] * scale;
    rounded<T>(made).store(wide + i);
  }
  return scale;
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEELEMENTS_CUH
