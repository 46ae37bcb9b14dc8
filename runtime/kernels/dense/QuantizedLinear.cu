// y = alpha (x in_scale) w^T with a weight in 8 or 4 bits on a GPU.
//
// In bf16, whole and aligned rows of the weight are multiplied by the tensor
// cores, see NarrowTiles.cuh, or those in fp8 by DirectMatmuls.cu if x has few.
// More rows of x than a block has read the weight again, from L2 if it is
// there: the kernels are made for decoding.
//
// In f32, and for other rows, a warp computes one output for up to 8 rows of x.
// It reads the weight's row once, 16 bytes a lane, dequantizes in registers and
// accumulates in f32. The elements of a lane's 16 bytes share a scale.
//
// The order of a row's sum does not depend on the other rows.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/dense/DirectMatmuls.cuh"
#include "runtime/kernels/dense/NarrowTiles.cuh"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/sizes/WeightScales.h"

#include <cuda_fp8.h>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using sizes::WeightFormat;
using sizes::WeightScales;

constexpr int warpSize32 = 32, outputsOfBlock = 8, mostRows = 8;
constexpr int chunkBytes = 16;

template <WeightFormat format>
constexpr int perByte = format == WeightFormat::int4 ? 2 : 1;

/// The operands of a launch.
struct QuantizedOperands {
  const void* x;
  const uint8_t* w;
  const float* scales;
  const float* inScale; // or null
  void* y;
  int64_t rows, n, k;
  int64_t scaleRows;   // weight rows that share scales
  int64_t scaleStride; // scales between such rows; 0: one for all
  bool isGrouped;
  bool isConstant; // the weight
  float alpha;

  __device__ float scaleOf(int64_t row, int64_t column) const {
    const int64_t first = row / scaleRows * scaleStride;
    return scales[isGrouped ? first + column / sizes::weightGroup : first];
  }
};

/// Element `i` of a run of stored weights.
template <WeightFormat format>
__device__ float weightAt(const uint8_t* stored, int i) {
  if constexpr (format == WeightFormat::int4)
    return float(int(stored[i / 2] >> i % 2 * 4 & 15) - 8);
  else if constexpr (format == WeightFormat::int8)
    return float(int8_t(stored[i]));
  else {
    __nv_fp8_e4m3 value;
    value.__x = stored[i];
    return float(value);
  }
}

/// Adds the products of `count` elements from column `begin` on.
template <class T, WeightFormat format, int high>
__device__ void addChunk(const QuantizedOperands& of, const T* x,
                         const uint8_t* stored, int64_t row, int64_t begin,
                         int count, int64_t rows, float (&sums)[high]) {
  float parts[high] = {};
#pragma unroll
  for (int i = 0; i < chunkBytes * perByte<format>; ++i) {
    if (i >= count)
      break;
    const float weight = weightAt<format>(stored, i);
    const float factor = of.inScale ? of.inScale[begin + i] : 1.0f;
#pragma unroll
    for (int r = 0; r < high; ++r)
      if (r < rows)
        parts[r] += weight * (float(x[r * of.k + begin + i]) * factor);
  }
  const float scale = of.scaleOf(row, begin);
#pragma unroll
  for (int r = 0; r < high; ++r)
    sums[r] += parts[r] * scale;
}

/// Block (i, j) computes outputs [8 i, 8 i + 8) of rows [high j, high j +
/// high). With `isAligned`, rows of the weight are whole, aligned chunks.
template <class T, WeightFormat format, int high, bool isAligned>
__global__ void __launch_bounds__(warpSize32* outputsOfBlock)
    quantizedLinear(const __grid_constant__ QuantizedOperands of) {
  constexpr int chunk = chunkBytes * perByte<format>;
  const int lane = int(threadIdx.x) % warpSize32;
  const int64_t row =
      int64_t(blockIdx.x) * outputsOfBlock + threadIdx.x / warpSize32;
  const int64_t first = int64_t(blockIdx.y) * high;
  if (row >= of.n)
    return;
  const int64_t rows = min(int64_t(high), of.rows - first);
  const T* x = static_cast<const T*>(of.x) + first * of.k;
  const uint8_t* weights = of.w + row * (of.k / perByte<format>);
  float sums[high] = {};
  for (int64_t begin = int64_t(lane) * chunk; begin < of.k;
       begin += warpSize32 * chunk) {
    const uint8_t* from = weights + begin / perByte<format>;
    const int count = int(min(int64_t(chunk), of.k - begin));
    alignas(16) uint8_t stored[chunkBytes];
    if constexpr (isAligned)
      *reinterpret_cast<uint4*>(stored) =
          __ldg(reinterpret_cast<const uint4*>(from));
    else
      for (int i = 0; i < count / perByte<format>; ++i)
        stored[i] = from[i];
    addChunk<T, format, high>(of, x, stored, row, begin, count, rows, sums);
  }
#pragma unroll
  for (int r = 0; r < high; ++r) {
#pragma unroll
    for (int distance = warpSize32 / 2; distance > 0; distance /= 2)
      sums[r] += __shfl_xor_sync(0xffffffff, sums[r], distance);
    if (lane == 0 && r < rows)
      static_cast<T*>(of.y)[(first + r) * of.n + row] = T(of.alpha * sums[r]);
  }
}

template <class T, WeightFormat format, int high>
void launchRows(const CudaKernelArgs& args, const QuantizedOperands& of) {
  const dim3 grid(unsigned(ceilDivide(of.n, outputsOfBlock)),
                  unsigned(ceilDivide(of.rows, high)));
  constexpr int threads = warpSize32 * outputsOfBlock;
  const bool isAligned = of.k % (chunkBytes * perByte<format>) == 0 &&
                         reinterpret_cast<uintptr_t>(of.w) % chunkBytes == 0;
  const cudaStream_t stream = args.context.stream();
  if (isAligned)
    quantizedLinear<T, format, high, true><<<grid, threads, 0, stream>>>(of);
  else
    quantizedLinear<T, format, high, false><<<grid, threads, 0, stream>>>(of);
}

template <class T, WeightFormat format>
void launchFormat(const CudaKernelArgs& args, const QuantizedOperands& of) {
  if (of.rows == 1)
    launchRows<T, format, 1>(args, of);
  else if (of.rows <= 4)
    launchRows<T, format, 4>(args, of);
  else
    launchRows<T, format, mostRows>(args, of);
}

narrow::Operands narrowOperands(const QuantizedOperands& all) {
  narrow::Operands of = {};
  of.x = static_cast<const narrow::Bf16*>(all.x);
  of.w = all.w;
  of.scales = all.scales;
  of.inScale = all.inScale;
  of.y = static_cast<narrow::Bf16*>(all.y);
  of.rows = all.rows;
  of.n = all.n;
  of.k = all.k;
  of.scaleRows = all.scaleRows;
  of.scaleStride = all.scaleStride;
  of.alpha = all.alpha;
  of.isConstant = all.isConstant;
  return of;
}

/// Enqueues the matmul on tensor cores. Returns false, and enqueues nothing, if
/// rows of the operands are not whole or not aligned.
template <class Stored>
bool tryTensorCores(const QuantizedOperands& all,
                    const device::CudaContext& context) {
  const narrow::Operands of = narrowOperands(all);
  if (!narrow::isWhole<Stored>(of))
    return false;
  auto launch = [&](auto tiles, auto warps) {
    if (all.isGrouped)
      narrow::launchTiles<Stored, tiles.value, warps.value, true>(of, context);
    else
      narrow::launchTiles<Stored, tiles.value, warps.value, false>(of, context);
  };
  // Few blocks fill a GPU with more warps.
  const bool areFew = narrow::blocksOf(of) < 4 * context.multiprocessors();
  using Eight = std::integral_constant<int, 8>;
  using Sixteen = std::integral_constant<int, 16>;
  if (of.rows <= 8 && areFew)
    launch(std::integral_constant<int, 1>(), Sixteen());
  else if (of.rows <= 8)
    launch(std::integral_constant<int, 1>(), Eight());
  else if (of.rows <= 16)
    launch(std::integral_constant<int, 2>(), Eight());
  else
    launch(std::integral_constant<int, 4>(), Eight());
  return true;
}

bool tryTensorCores(const QuantizedOperands& of, WeightFormat format,
                    const device::CudaContext& context) {
  switch (format) {
  case WeightFormat::fp8:
    return tryTensorCores<narrow::StoredFp8>(of, context);
  case WeightFormat::int8:
    return tryTensorCores<narrow::StoredInt8>(of, context);
  case WeightFormat::int4:
    return tryTensorCores<narrow::StoredInt4>(of, context);
  }
  return false;
}

QuantizedOperands operandsOf(const CudaKernelArgs& args, WeightFormat format) {
  const ops::QuantizedLinearAttributes attributes(args.op.attributes);
  const Tensor &x = args.inputs[0], &w = args.inputs[1];
  const WeightScales kind = *sizes::findWeightScales(attributes.scales);
  QuantizedOperands of = {};
  of.x = x.data;
  of.w = w.as<uint8_t>();
  of.isConstant = w.isConstant;
  of.scales = args.inputs[2].as<float>();
  of.inScale = args.inputs[3].present() ? args.inputs[3].as<float>() : nullptr;
  of.y = args.outputs[0].data;
  of.n = w.shape[0];
  of.k = w.shape[1] * (format == WeightFormat::int4 ? 2 : 1);
  of.rows = x.elements() / of.k;
  of.isGrouped = kind == WeightScales::groups || kind == WeightScales::squares;
  of.scaleRows = kind == WeightScales::squares ? sizes::weightGroup : 1;
  if (kind != WeightScales::tensor)
    of.scaleStride =
        of.isGrouped ? ceilDivide(of.k, sizes::weightGroup) : int64_t(1);
  of.alpha = float(attributes.alpha);
  return of;
}

} // namespace

std::optional<narrow::DirectMatmul>
narrow::directQuantizedLinear(const CudaKernelArgs& args) {
  if (args.inputs[0].type != plan::DType::bf16 ||
      args.inputs[1].type != plan::DType::f8e4m3)
    return std::nullopt;
  const QuantizedOperands of = operandsOf(args, WeightFormat::fp8);
  const DirectMatmul made{DirectType::fp8, narrowOperands(of)};
  return !of.isGrouped && isDirect(made) ? std::optional(made) : std::nullopt;
}

Status quantizedLinearCudaKernel(const CudaKernelArgs& args) {
  if (const auto direct = narrow::directQuantizedLinear(args))
    return narrow::runDirectly({&*direct, 1}, args.context);
  const auto format = sizes::weightFormatOf(args.inputs[1].type);
  assert(format && "the plan's types have been checked");
  const QuantizedOperands of = operandsOf(args, *format);
  if (of.rows == 0 || of.n == 0)
    return Status::ok();
  if (args.inputs[0].type == plan::DType::bf16 &&
      tryTensorCores(of, *format, args.context))
    return device::launchStatus();
  return withDeviceType(args, args.inputs[0].type, [&](auto type) {
    using T = typename decltype(type)::Element;
    switch (*format) {
    case WeightFormat::fp8:
      return launchFormat<T, WeightFormat::fp8>(args, of);
    case WeightFormat::int8:
      return launchFormat<T, WeightFormat::int8>(args, of);
    case WeightFormat::int4:
      return launchFormat<T, WeightFormat::int4>(args, of);
    }
  });
}

} // namespace reciperun::kernels
