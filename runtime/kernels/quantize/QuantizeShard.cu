// Quantizes a matrix to fp8 with one scale, a part on each rank, on a GPU. The
// first op finds the largest element of the rank's part; once the maximum over
// all parts is known, the second op quantizes the part.
//
// Magnitudes are not negative, so their bits compare like integers. Blocks
// combine their maxima with an atomic integer maximum, in any order.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/quantize/QuantizeTiles.cuh"
#include "runtime/ops/QuantizationOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;

constexpr int threads = 512, unroll = 4;
constexpr int castThreads = 256;
constexpr int chunk = 16; // elements that a thread casts

template <class T, int n>
__global__ void __launch_bounds__(threads)
    joinMost(const T* x, int64_t count, unsigned* joined) {
  __shared__ float room[32];
  const int64_t step = int64_t(gridDim.x) * threads, vectors = count / n;
  const int64_t first = int64_t(blockIdx.x) * threads + threadIdx.x;
  float most = 0;
  for (int64_t at = first; at < vectors; at += unroll * step) {
    Vector<T, n> parts[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      parts[u] = Vector<T, n>::load(x + min(at + u * step, vectors - 1) * n);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
#pragma unroll
      for (int e = 0; e < n; ++e)
        most = fmaxf(most, fabsf(parts[u][e]));
  }
  for (int64_t i = vectors * n + first; i < count; i += step)
    most = fmaxf(most, fabsf(float(x[i])));
  most = narrow::mostOfBlock(most, room);
  if (threadIdx.x == 0)
    atomicMax(joined, __float_as_uint(most));
}

/// Quantizes at most `chunk` elements from `at` on.
template <class F, class T>
__device__ void castOneByOne(const T* x, int64_t at, int64_t count,
                             float factor, uint8_t* q) {
  for (int64_t i = at; i < min(at + chunk, count); ++i)
    q[i] = uint8_t(
        __nv_cvt_float_to_fp8(float(x[i]) * factor, __NV_SATFINITE, F::kind));
}

template <class F, class T>
__device__ void castChunk(const T* x, int64_t at, float factor, uint8_t* q) {
  constexpr int n = vectorLength<T>;
  Vector<T, n> in[chunk / n];
#pragma unroll
  for (int k = 0; k < chunk / n; ++k)
    in[k] = Vector<T, n>::load(x + at + k * n);
  auto value = [&](int i) { return in[i / n][i % n] * factor; };
  uint32_t words[chunk / 4];
#pragma unroll
  for (int i = 0; i < chunk; i += 4)
    words[i / 4] = narrow::fourBytes<F>(value(i), value(i + 1), value(i + 2),
                                        value(i + 3));
  *reinterpret_cast<uint4*>(q + at) =
      make_uint4(words[0], words[1], words[2], words[3]);
}

template <class F, class T, bool isAligned>
__global__ void __launch_bounds__(castThreads)
    castPart(const T* x, int64_t count, const float* most, uint8_t* q,
             float* scaleOfAll) {
  const float scale = narrow::scaleOf<F>(*most), factor = __frcp_rn(scale);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *scaleOfAll = scale;
  const int64_t at = (int64_t(blockIdx.x) * castThreads + threadIdx.x) * chunk;
  if (isAligned && at + chunk <= count)
    castChunk<F>(x, at, factor, q);
  else
    castOneByOne<F>(x, at, count, factor, q);
}

template <class F, class T>
void launchCast(const CudaKernelArgs& args, const T* x, int64_t count,
                uint8_t* q) {
  auto* const kernel =
      areAligned(16, x, q) ? &castPart<F, T, true> : &castPart<F, T, false>;
  // A rank without elements of x writes the scale too.
  const int64_t blocks =
      std::max<int64_t>(1, ceilDivide(count, castThreads * chunk));
  kernel<<<unsigned(blocks), castThreads, 0, args.context.stream()>>>(
      x, count,
      args.inputs[1].as<float>() +
          ops::ShardAmaxAttributes(args.op.attributes).place,
      q, args.outputs[1].as<float>());
}

} // namespace

Status shardAmaxCudaKernel(const CudaKernelArgs& args) {
  const device::Tensor& part = args.inputs[0];
  const OwnRun run = ownRunOf(args);
  const int64_t count = run.end - run.begin;
  if (count == 0)
    return Status::ok();
  auto* const joined = args.outputs[0].as<unsigned>() +
                       ops::ShardAmaxAttributes(args.op.attributes).place;
  return withDeviceType(args, part.type, [&]<class T>(DeviceType<T>) {
    constexpr int n = vectorLength<T>;
    const T* const x = part.as<T>() + run.begin;
    const int64_t blocks =
        std::min<int64_t>(2 * args.context.multiprocessors(),
                          ceilDivide(count, n * threads * unroll));
    auto* const kernel = areAligned(16, x) ? &joinMost<T, n> : &joinMost<T, 1>;
    kernel<<<unsigned(blocks), threads, 0, args.context.stream()>>>(x, count,
                                                                    joined);
  });
}

Status quantizeShardCudaKernel(const CudaKernelArgs& args) {
  const device::Tensor& part = args.inputs[0];
  const OwnRun run = ownRunOf(args);
  uint8_t* const q = args.outputs[0].as<uint8_t>() + run.begin;
  return withDeviceType(args, part.type, [&]<class T>(DeviceType<T>) {
    const T* const x = part.as<T>() + run.begin;
    if (args.outputs[0].type == plan::DType::f8e4m3)
      launchCast<narrow::E4m3>(args, x, run.end - run.begin, q);
    else
      launchCast<narrow::E5m2>(args, x, run.end - run.begin, q);
  });
}

} // namespace reciperun::kernels
