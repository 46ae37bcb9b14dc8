// y [m,n] = alpha x [m,k] w [n,k]^T (+ base) for few rows.
//
// Up to four rows multiply without tensor cores: the warps of a block
// compute the same outputs and divide the columns among them. Their lanes read
// the weight in vectors of 16 bytes, and x from the L1 cache, which the weight
// bypasses. More rows are those of NarrowTiles.cuh.

#include "runtime/kernels/dense/NarrowMatmuls.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/kernels/dense/NarrowTiles.cuh"

namespace reciperun::kernels {
namespace {

using device::Matmuls;
using narrow::Bf16;
using narrow::Operands;

constexpr int64_t mostRows = 16;
constexpr int warpLanes = 32;

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

__device__ float addProducts(float sum, const uint4& a, const uint4& b) {
  sum = addProducts(sum, a.x, b.x);
  sum = addProducts(sum, a.y, b.y);
  sum = addProducts(sum, a.z, b.z);
  return addProducts(sum, a.w, b.w);
}

/// Block i computes outputs 4 i to 4 i + 3 of all rows.
template <int rows>
__global__ void __launch_bounds__(4 * warpLanes)
    multiplyDirectly(const __grid_constant__ Operands of) {
  constexpr int outputs = 4, depth = 2, warps = 4;
  constexpr int threads = warps * warpLanes;
  const int lane = int(threadIdx.x) % warpLanes;
  const int vectors = int(of.k / narrow::StoredBf16::elements);
  const int64_t first = int64_t(blockIdx.x) * outputs;
  const auto* x = reinterpret_cast<const uint4*>(of.x);
  const uint4* weights[outputs];
#pragma unroll
  for (int i = 0; i < outputs; ++i)
    weights[i] = reinterpret_cast<const uint4*>(of.w) +
                 min(first + i, of.n - 1) * vectors;
  releaseNextKernel();
  if (!of.isConstant)
    waitForPreviousKernel();
  float sums[outputs][rows] = {};
  for (int begin = int(threadIdx.x); begin < vectors;
       begin += threads * depth) {
    uint4 stored[depth][outputs];
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int i = 0; i < outputs; ++i)
        if (const int at = begin + d * threads; at < vectors)
          stored[d][i] = readOnce(weights[i] + at);
    waitForPreviousKernel(); // for x
#pragma unroll
    for (int d = 0; d < depth; ++d) {
      const int at = begin + d * threads;
      if (at >= vectors)
        continue;
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        const uint4 columns = x[int64_t(row) * vectors + at];
#pragma unroll
        for (int i = 0; i < outputs; ++i)
          sums[i][row] = addProducts(sums[i][row], columns, stored[d][i]);
      }
    }
  }
  waitForPreviousKernel(); // also threads without columns
  __shared__ float parts[warps][outputs * rows];
#pragma unroll
  for (int i = 0; i < outputs; ++i)
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      float sum = sums[i][row];
      for (int offset = warpLanes / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      if (lane == 0)
        parts[threadIdx.x / warpLanes][row * outputs + i] = sum;
    }
  __syncthreads();
  const int at = int(threadIdx.x);
  const int64_t output = first + at % outputs;
  if (at >= outputs * rows || output >= of.n)
    return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < warps; ++i)
    sum += parts[i][at];
  const int64_t index = at / outputs * of.n + output;
  const float base = of.base ? float(of.base[index]) : 0.f;
  of.y[index] = Bf16(fmaf(of.alpha, sum, base));
}

template <int rows>
void launchDirectly(const Operands& of, const device::CudaContext& context) {
  const auto blocks = unsigned((of.n + 3) / 4);
  launchOverlapped(context, multiplyDirectly<rows>, blocks, 4 * warpLanes, 0,
                   of);
}

Operands operandsOf(const Matmuls::Shape& shape, float alpha,
                    const Matmuls::Operands& operands) {
  const void* base =
      shape.accumulate ? (operands.base ? operands.base : operands.c) : nullptr;
  Operands of = {};
  of.x = static_cast<const Bf16*>(operands.a);
  of.w = static_cast<const uint8_t*>(operands.b);
  of.base = static_cast<const Bf16*>(base);
  of.y = static_cast<Bf16*>(operands.c);
  of.rows = shape.m;
  of.n = shape.n;
  of.k = shape.k;
  of.alpha = alpha;
  return of;
}

} // namespace

bool isNarrow(const Matmuls::Shape& shape, const Matmuls::Operands& operands) {
  return shape.m <= mostRows && !shape.transposeA && shape.transposeB &&
         shape.input == plan::DType::bf16 && !shape.inputB &&
         shape.output == plan::DType::bf16 &&
         narrow::isWhole<narrow::StoredBf16>(
             operandsOf(shape, /*alpha=*/1, operands));
}

Status runNarrow(const Matmuls::Shape& shape, float alpha, bool isConstant,
                 const Matmuls::Operands& operands,
                 const device::CudaContext& context) {
  Operands of = operandsOf(shape, alpha, operands);
  of.isConstant = isConstant;
  constexpr int warps = 16;
  switch (shape.m) {
  case 1:
    launchDirectly<1>(of, context);
    break;
  case 2:
    launchDirectly<2>(of, context);
    break;
  case 3:
    launchDirectly<3>(of, context);
    break;
  case 4:
    launchDirectly<4>(of, context);
    break;
  default:
    if (shape.m <= 8)
      narrow::launchTiles<narrow::StoredBf16, 1, warps, false>(of, context);
    else
      narrow::launchTiles<narrow::StoredBf16, 2, warps, false>(of, context);
  }
  return device::launchStatus();
}

} // namespace reciperun::kernels
