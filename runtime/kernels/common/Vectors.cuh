// Vectors of elements in registers. An access moves 16 bytes. Kernels convert
// elements to float to compute and round them to store.

#ifndef RECIPERUN_KERNELS_COMMON_VECTORS_CUH
#define RECIPERUN_KERNELS_COMMON_VECTORS_CUH

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>

namespace reciperun::kernels {

/// The device type of bf16; it has the same bits as device::bf16.
using bfloat16 = __nv_bfloat16;

/// Neighbouring elements. A load or a store is one access of up to 16 bytes.
template <class T, int n> struct alignas(sizeof(T) * n) Vector {
  T elements[n];

  __device__ float operator[](int i) const { return float(elements[i]); }

  __device__ static Vector load(const T* from) {
    return *reinterpret_cast<const Vector*>(from);
  }
  __device__ void store(T* to) const { *reinterpret_cast<Vector*>(to) = *this; }
};

/// The number of elements of T in an access of 16 bytes.
template <class T> inline constexpr int vectorLength = 16 / int(sizeof(T));

/// Rounds to nearest, ties to even, like device::bf16.
template <class T> __device__ T rounded(float value) {
  return T(value);
}
template <> __device__ inline bfloat16 rounded(float value) {
  return __float2bfloat16_rn(value);
}

template <class T, int n>
__device__ Vector<T, n> rounded(const float (&values)[n]) {
  Vector<T, n> result;
  if constexpr (sizeof(T) == 2 && n % 2 == 0) {
    // One instruction rounds two numbers.
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      const __nv_bfloat162 pair =
          __floats2bfloat162_rn(values[i], values[i + 1]);
      result.elements[i] = pair.x;
      result.elements[i + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      result.elements[i] = rounded<T>(values[i]);
  }
  return result;
}

/// Calls body(column, vector) for the vectors of a row that this thread of a
/// block of `threads` reads, in ascending order. Four loads are in flight at
/// once.
template <int threads, int n, class T, class Body>
__device__ void forVectors(const T* row, int64_t width, Body body) {
  constexpr int step = threads * n, unroll = 4;
  int64_t at = int64_t(threadIdx.x) * n;
  for (; at + (unroll - 1) * step < width; at += unroll * step) {
    Vector<T, n> parts[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      parts[u] = Vector<T, n>::load(row + at + u * step);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      body(at + u * step, parts[u]);
  }
  for (; at < width; at += step)
    body(at, Vector<T, n>::load(row + at));
}

/// Whether accesses of `bytes` to all of these pointers are aligned.
template <class... Pointer>
bool areAligned(int64_t bytes, const Pointer*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % uintptr_t(bytes) == 0) &&
          ...);
}

/// Calls body(n), where n is the number of elements of T per access: 16 bytes
/// if `rows` and rows of `width` elements are aligned to 16 bytes, else one
/// element. n is a std::integral_constant.
template <class T, class Body, class... Pointer>
void withVectors(int64_t width, Body&& body, const Pointer*... rows) {
  constexpr int n = vectorLength<T>;
  if (width % n == 0 && areAligned(16, rows...))
    body(std::integral_constant<int, n>());
  else
    body(std::integral_constant<int, 1>());
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_VECTORS_CUH
