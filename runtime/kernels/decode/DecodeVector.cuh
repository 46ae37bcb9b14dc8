// The vector that the matmuls of a phase read, in registers: a thread has the
// elements at the columns whose weights it reads. They are in bf16 for weights
// in bf16, and for weights in 8 bits, which the kernel widens to fp16, in fp16
// times a power of 2 that brings the largest element to [2^13, 2^14). Elements
// of more than 2^-27 of it are exact.

#ifndef RECIPERUN_KERNELS_DECODE_DECODEVECTOR_CUH
#define RECIPERUN_KERNELS_DECODE_DECODEVECTOR_CUH

#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/common/Vectors.cuh"
#include "runtime/kernels/decode/DecodeBarrier.cuh"

namespace reciperun::kernels::decode {

/// A power of 2 and its inverse.
struct PowerOf2 {
  float value, inverse;

  /// That which brings a number, not negative, to [2^13, 2^14), as far as both
  /// powers are normal numbers.
  __device__ __forceinline__ static PowerOf2 forLargest(float largest) {
    const int exponent = int(__float_as_uint(largest) >> 23);
    const int own = min(max(254 + 13 - exponent, 1), 253);
    return {__uint_as_float(unsigned(own) << 23),
            __uint_as_float(unsigned(254 - own) << 23)};
  }
};

/// Eight neighbouring elements.
struct Eight {
  float elements[8];

  __device__ __forceinline__ static Eight widen(const uint4& from) {
    const uint32_t words[] = {from.x, from.y, from.z, from.w};
    Eight made;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      made.elements[2 * i] = __uint_as_float(words[i] << 16);
      made.elements[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
    return made;
  }
  /// Rounds to bf16 or fp16.
  template <class T> __device__ __forceinline__ uint4 as() const {
    return {cuda::pack<T>(elements[0], elements[1]),
            cuda::pack<T>(elements[2], elements[3]),
            cuda::pack<T>(elements[4], elements[5]),
            cuda::pack<T>(elements[6], elements[7])};
  }
};

/// A phase's vector. A thread has some eights of its elements.
/// `lines`: of a row of weights, at most.
template <Stored stored, int lines> class DecodeVector {
  /// Eights at the columns of a line's 16 bytes.
  static constexpr int ofLine = stored == Stored::bf16 ? 1 : 2;
  static constexpr int eights = lines * ofLine;

public:
  /// Loads what does not depend on phases before.
  __device__ __forceinline__ explicit DecodeVector(const MatmulPhase& of)
      : of(of) {
    if (!of.normalizes || !of.norm)
      return;
    forEights([&](int i, int at) {
      weights[i] = __ldg(reinterpret_cast<const uint4*>(of.norm + at));
    });
  }

  /// Loads the vector, which other blocks have written. Columns beyond the last
  /// are 0. `room` has an element for each warp.
  __device__ __forceinline__ void load(float2* room) {
    forEights([&](int i, int at) {
      x[i] = __ldcg(reinterpret_cast<const uint4*>(of.x + at));
    });
    float2 limits = {};
    if (of.normalizes || stored == Stored::fp8)
      limits = sumAndMaximum(measure(), room);
    if (of.normalizes) {
      const float rstd = 1.0f / sqrtf(limits.x / float(of.k) + of.eps);
      limits.y *= rstd;
      forEights([&](int i, int) {
        Eight all = Eight::widen(x[i]);
        const Eight by = factors(i);
#pragma unroll
        for (int e = 0; e < 8; ++e)
          all.elements[e] = all.elements[e] * rstd * by.elements[e];
        x[i] = all.template as<Bf16>();
      });
    }
    if constexpr (stored == Stored::fp8) {
      const PowerOf2 power = PowerOf2::forLargest(limits.y);
      inverse = power.inverse;
      forEights([&](int i, int) {
        Eight all = Eight::widen(x[i]);
#pragma unroll
        for (float& element : all.elements)
          element *= power.value;
        x[i] = all.template as<__half>();
      });
    }
  }

  /// What results are multiplied by.
  __device__ __forceinline__ float scale() const {
    return inverse;
  }
  /// Pair `pair` of the thread's elements in a line.
  __device__ __forceinline__ uint32_t pair(int line, int pair) const {
    const uint4& eight = x[line * ofLine + pair / 4];
    return pair % 4 == 0   ? eight.x
           : pair % 4 == 1 ? eight.y
           : pair % 4 == 2 ? eight.z
                           : eight.w;
  }

private:
  /// Calls body(number, first element) for the eights of the thread.
  template <class Body>
  __device__ __forceinline__ void forEights(Body body) const {
#pragma unroll
    for (int i = 0; i < eights; ++i) {
      const int at =
          ((i / ofLine * computingThreads + int(threadIdx.x)) * ofLine +
           i % ofLine) *
          8;
      if (at < of.k)
        body(i, at);
    }
  }

  /// What the elements of eight `i` are multiplied by after the norm.
  __device__ __forceinline__ Eight factors(int i) const {
    Eight made = of.norm ? Eight::widen(weights[i]) : Eight{};
    if (of.isCentered || !of.norm)
#pragma unroll
      for (float& element : made.elements)
        element += 1.0f;
    return made;
  }

  /// The sum of the squares, and the largest magnitude before `rstd`.
  __device__ __forceinline__ float2 measure() const {
    float2 limits = {};
    forEights([&](int i, int) {
      const Eight all = Eight::widen(x[i]);
      const Eight by = of.normalizes ? factors(i) : Eight{};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const float element = all.elements[e];
        limits.x += element * element;
        limits.y =
            fmaxf(limits.y,
                  fabsf(of.normalizes ? element * by.elements[e] : element));
      }
    });
    return limits;
  }

  const MatmulPhase& of;
  float inverse = 1;
  uint4 x[eights] = {}, weights[eights] = {};
};

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODEVECTOR_CUH
