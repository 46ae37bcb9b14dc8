// y [rows,n] = alpha x [rows,k] w [n,k]^T (+ base) for one to four rows.
//
// The warps of a block compute the same four outputs and divide the columns
// among them. Their lanes read the weight in vectors of 16 bytes, bypassing the
// L1 cache, and x from the L1 cache. Blocks are small, so that many fit on a
// multiprocessor: some keep the memory busy while others reduce their sums. A
// launch may run several matmuls, each in its own blocks.

#include "runtime/kernels/dense/DirectMatmuls.cuh"

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/kernels/dense/JoinedKernels.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace reciperun::kernels::narrow {
namespace {

constexpr int64_t mostDirectRows = 4;
constexpr int warpLanes = 32, blockOutputs = 4, blockWarps = 4;
constexpr int blockThreads = blockWarps * warpLanes;

/// The matmuls of a launch. Blocks first[i] and up belong to matmul i.
struct Together {
  Operands of[mostTogether];
  unsigned first[mostTogether];
  int count;

  __device__ int indexOf(unsigned block) const {
    int index = 0;
#pragma unroll
    for (int i = 1; i < mostTogether; ++i)
      if (i < count && block >= first[i])
        index = i;
    return index;
  }
};

/// Loads a vector that is read only once, without caching it in L1.
__device__ uint4 readOnce(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

/// Widens the two bf16 of a word to floats: a bf16 is the upper half of a
/// float.
__device__ float2 widened(uint32_t word) {
  return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
}

/// Widens the elements of a vector of bf16.
__device__ void toFloats(const uint4& from, float* to) {
  const uint32_t words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 both = widened(words[i]);
    to[2 * i] = both.x;
    to[2 * i + 1] = both.y;
  }
}

template <class Stored>
__device__ void weightFloats(const uint4& stored,
                             float (&to)[Stored::elements]) {
  if constexpr (std::is_same_v<Stored, StoredFp8>) {
    const uint32_t words[] = {stored.x, stored.y, stored.z, stored.w};
#pragma unroll
    for (int i = 0; i < Stored::elements / 2; ++i) {
      const auto pair = __nv_fp8x2_storage_t(words[i / 2] >> i % 2 * 16);
      const float2 both =
          __half22float2(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3));
      to[2 * i] = both.x;
      to[2 * i + 1] = both.y;
    }
  } else {
    toFloats(stored, to);
  }
}

/// Loads a row's columns of x from `column` on, multiplied by in_scale if
/// present.
template <class Stored>
__device__ void columnFloats(const Operands& of, int row, int64_t column,
                             float (&to)[Stored::elements]) {
#pragma unroll
  for (int i = 0; i < Stored::elements; i += 8) {
    const int64_t at = column + i;
    uint4 x = *reinterpret_cast<const uint4*>(of.x + row * of.k + at);
    if (std::is_same_v<Stored, StoredFp8> && of.inScale)
      x = scaled(x, of.inScale + at);
    toFloats(x, to + i);
  }
}

template <class Stored, int rows>
__global__ void __launch_bounds__(blockThreads)
    multiplyDirectly(const __grid_constant__ Together all) {
  constexpr int outputs = blockOutputs, depth = 2, elements = Stored::elements;
  const int index = all.indexOf(blockIdx.x);
  const Operands& of = all.of[index];
  const int lane = int(threadIdx.x) % warpLanes;
  const int vectors = int(of.k / elements);
  const int64_t first = int64_t(blockIdx.x - all.first[index]) * outputs;
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
       begin += blockThreads * depth) {
    uint4 stored[depth][outputs];
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int i = 0; i < outputs; ++i)
        if (const int at = begin + d * blockThreads; at < vectors)
          stored[d][i] = readOnce(weights[i] + at);
    waitForPreviousKernel(); // for x
#pragma unroll
    for (int d = 0; d < depth; ++d) {
      const int at = begin + d * blockThreads;
      if (at >= vectors)
        continue;
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        float x[elements];
        columnFloats<Stored>(of, row, int64_t(at) * elements, x);
#pragma unroll
        for (int i = 0; i < outputs; ++i) {
          float weight[elements];
          weightFloats<Stored>(stored[d][i], weight);
#pragma unroll
          for (int e = 0; e < elements; ++e)
            sums[i][row] = fmaf(x[e], weight[e], sums[i][row]);
        }
      }
    }
  }
  waitForPreviousKernel(); // also threads without columns
  __shared__ float parts[blockWarps][outputs * rows];
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
  for (int i = 0; i < blockWarps; ++i)
    sum += parts[i][at];
  if constexpr (std::is_same_v<Stored, StoredFp8>)
    sum *= *of.scalesOf(output);
  const int64_t to = at / outputs * of.n + output;
  const float base = of.base ? float(of.base[to]) : 0.f;
  of.y[to] = Bf16(fmaf(of.alpha, sum, base));
}

template <int rows>
void launch(DirectType type, const Together& all, unsigned blocks,
            const device::CudaContext& context) {
  const auto kernel = type == DirectType::fp8
                          ? &multiplyDirectly<StoredFp8, rows>
                          : &multiplyDirectly<StoredBf16, rows>;
  launchOverlapped(context, kernel, blocks, blockThreads, 0, all);
}

} // namespace

bool isDirect(const DirectMatmul& matmul) {
  const Operands& of = matmul.operands;
  return of.rows > 0 && of.rows <= mostDirectRows &&
         (matmul.type == DirectType::fp8 ? isWhole<StoredFp8>(of)
                                         : isWhole<StoredBf16>(of));
}

Status runDirectly(std::span<const DirectMatmul> matmuls,
                   const device::CudaContext& context) {
  assert(!matmuls.empty() && matmuls.size() <= size_t(mostTogether));
  Together all = {};
  unsigned blocks = 0;
  for (const DirectMatmul& matmul : matmuls) {
    all.of[all.count] = matmul.operands;
    all.first[all.count++] = blocks;
    blocks += unsigned((matmul.operands.n + blockOutputs - 1) / blockOutputs);
  }
  switch (matmuls[0].operands.rows) {
  case 1:
    launch<1>(matmuls[0].type, all, blocks, context);
    break;
  case 2:
    launch<2>(matmuls[0].type, all, blocks, context);
    break;
  case 3:
    launch<3>(matmuls[0].type, all, blocks, context);
    break;
  default:
    launch<4>(matmuls[0].type, all, blocks, context);
  }
  return device::launchStatus();
}

} // namespace reciperun::kernels::narrow

namespace reciperun::kernels {

Expected<bool>
runJoinedCudaKernels(std::span<const device::CudaKernelArgs> calls) {
  using narrow::DirectMatmul;
  std::vector<DirectMatmul> matmuls;
  for (const device::CudaKernelArgs& call : calls) {
    std::optional<DirectMatmul> matmul;
    if (call.op.kind == plan::OpKind::Linear)
      matmul = narrow::directLinear(call);
    else if (call.op.kind == plan::OpKind::QuantizedLinear)
      matmul = narrow::directQuantizedLinear(call);
    if (!matmul || (!matmuls.empty() &&
                    (matmul->type != matmuls[0].type ||
                     matmul->operands.rows != matmuls[0].operands.rows)))
      return false;
    matmuls.push_back(*matmul);
  }
  if (matmuls.empty() || matmuls.size() > size_t(narrow::mostTogether))
    return false;
  RECIPERUN_TRY(narrow::runDirectly(matmuls, calls[0].context));
  return true;
}

} // namespace reciperun::kernels
