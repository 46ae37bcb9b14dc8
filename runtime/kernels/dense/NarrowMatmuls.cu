// y [m,n] = alpha x [m,k] w [n,k]^T (+ base) for few rows.
//
// A warp computes some outputs of all rows. Its lanes read the weight's rows in
// vectors of 16 bytes, the next ones while they multiply the current ones, and
// x from the L1 cache, which the weight bypasses. Narrow weights have fewer
// outputs per warp, so that all multiprocessors read.

#include "runtime/kernels/dense/NarrowMatmuls.h"

#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <cstdint>

#include <cuda_bf16.h>

namespace reciperun::kernels {
namespace {

using device::Matmuls;
using Bf16 = __nv_bfloat16;

constexpr int narrowWarp = 32, narrowThreads = 128;
constexpr int narrowWarps = narrowThreads / narrowWarp;
constexpr int64_t narrowVector = sizeof(uint4) / sizeof(Bf16);
constexpr int64_t mostNarrowRows = 8;

struct NarrowOperands {
  const uint4* x;
  const uint4* w;
  Bf16* y;
  const Bf16* base; // or null
  int64_t n;
  int vectors; // of a row of k elements
  float alpha;
};

/// A vector that is read once.
__device__ uint4 readOnce(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

/// The two numbers of a word: bf16 is the upper half of a float.
__device__ float2 widened(uint32_t word) {
  return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
}

__device__ float addProducts(float sum, uint32_t a, uint32_t b) {
  const float2 x = widened(a), y = widened(b);
  return fmaf(x.y, y.y, fmaf(x.x, y.x, sum));
}

template <int rows, int outputs>
__global__ void __launch_bounds__(narrowThreads)
    narrowMatmul(NarrowOperands operands) {
  const int lane = threadIdx.x % narrowWarp;
  const int64_t first =
      (int64_t(blockIdx.x) * narrowWarps + threadIdx.x / narrowWarp) * outputs;
  if (first >= operands.n)
    return;
  const uint4* weights[outputs];
  for (int i = 0; i < outputs; ++i)
    weights[i] = operands.w + min(first + i, operands.n - 1) * operands.vectors;
  float sums[outputs][rows] = {};
  uint4 next[outputs];
  if (lane < operands.vectors)
    for (int i = 0; i < outputs; ++i)
      next[i] = readOnce(weights[i] + lane);
  for (int at = lane; at < operands.vectors; at += narrowWarp) {
    uint4 current[outputs];
    const int later = at + narrowWarp;
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      current[i] = next[i];
      if (later < operands.vectors)
        next[i] = readOnce(weights[i] + later);
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const uint4 x = __ldg(operands.x + int64_t(row) * operands.vectors + at);
#pragma unroll
      for (int i = 0; i < outputs; ++i) {
        float sum = sums[i][row];
        sum = addProducts(sum, x.x, current[i].x);
        sum = addProducts(sum, x.y, current[i].y);
        sum = addProducts(sum, x.z, current[i].z);
        sums[i][row] = addProducts(sum, x.w, current[i].w);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < outputs; ++i)
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      float sum = sums[i][row];
      for (int offset = narrowWarp / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      const int64_t output = first + i;
      if (lane == 0 && output < operands.n) {
        const int64_t index = row * operands.n + output;
        const float base = operands.base ? float(operands.base[index]) : 0.f;
        operands.y[index] = Bf16(fmaf(operands.alpha, sum, base));
      }
    }
}

template <int rows, int outputs>
void launchOutputs(const NarrowOperands& operands, cudaStream_t stream) {
  constexpr int64_t ofBlock = int64_t(narrowWarps) * outputs;
  const auto blocks = unsigned((operands.n + ofBlock - 1) / ofBlock);
  narrowMatmul<rows, outputs><<<blocks, narrowThreads, 0, stream>>>(operands);
}

template <int rows>
void launchRows(const NarrowOperands& operands, cudaStream_t stream) {
  // Enough warps for every multiprocessor of an H100 or H200.
  constexpr int64_t enough = 132 * 16;
  if (operands.n >= 4 * enough)
    launchOutputs<rows, 4>(operands, stream);
  else if (operands.n >= 2 * enough)
    launchOutputs<rows, 2>(operands, stream);
  else
    launchOutputs<rows, 1>(operands, stream);
}

bool isVector(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % sizeof(uint4) == 0;
}

} // namespace

bool isNarrow(const Matmuls::Shape& shape, const Matmuls::Operands& operands) {
  return shape.m <= mostNarrowRows && !shape.transposeA && shape.transposeB &&
         shape.input == plan::DType::bf16 && !shape.inputB &&
         shape.output == plan::DType::bf16 && shape.k % narrowVector == 0 &&
         isVector(operands.a) && isVector(operands.b);
}

Status runNarrow(const Matmuls::Shape& shape, float alpha,
                 const Matmuls::Operands& operands, cudaStream_t stream) {
  const void* base =
      shape.accumulate ? (operands.base ? operands.base : operands.c) : nullptr;
  const NarrowOperands all{static_cast<const uint4*>(operands.a),
                           static_cast<const uint4*>(operands.b),
                           static_cast<Bf16*>(operands.c),
                           static_cast<const Bf16*>(base),
                           shape.n,
                           int(shape.k / narrowVector),
                           alpha};
  switch (shape.m) {
  case 1:
    launchRows<1>(all, stream);
    break;
  case 2:
    launchRows<2>(all, stream);
    break;
  case 3:
    launchRows<3>(all, stream);
    break;
  case 4:
    launchRows<4>(all, stream);
    break;
  case 5:
    launchRows<5>(all, stream);
    break;
  case 6:
    launchRows<6>(all, stream);
    break;
  case 7:
    launchRows<7>(all, stream);
    break;
  default:
    launchRows<8>(all, stream);
  }
  return device::launchStatus();
}

} // namespace reciperun::kernels
