// A convolution of each channel along its sequence and its gradients, on a GPU;
// CausalConv.cpp has the formulas.
//
// A lane processes neighbouring channels, 16 bytes per access. The warps of a
// block share the tokens of a tile. The rows that a token sees come from the L1
// cache. For dw a block sums a piece of the tokens, each warp a part of it, and
// the pieces are added in order (RowSums.cuh).

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowSums.cuh"
#include "runtime/kernels/common/Vectors.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int lanes = 32, warps = 8, threads = lanes * warps;
constexpr int tileTokens = 64;
/// The taps of dw that a block processes at a time.
constexpr int tapsAtOnce = 4;
/// The default shared memory limit of a block.
constexpr int sharedBytes = 48 << 10;

/// x [sequences, tokens, channels] and w [channels, taps].
struct Sizes {
  int64_t sequences, tokens, channels, taps;

  Sizes(const Tensor& x, const Tensor& w)
      : sequences(x.shape[0]), tokens(x.shape[1]),
        channels(x.shape[2] * x.shape[3]), taps(w.shape.back()) {}

  bool isEmpty() const { return sequences * tokens * channels == 0; }
};

/// The number of tokens before `token` (side -1) or after it (1), at most
/// `most`, that belong to its document.
__device__ inline int reachOf(const int32_t* segments, int64_t tokens,
                              int64_t token, int side, int64_t most) {
  most = min(most, side < 0 ? token : tokens - 1 - token);
  int count = 0;
  while (count < most &&
         segments[token + side * (count + 1)] == segments[token])
    ++count;
  return count;
}

/// Block (tile of tokens, chunk of channels, sequence): to_t = the sum over i
/// of w[k-1-i] from_{t + side i}.
template <int n, class T>
__global__ __launch_bounds__(threads) void convolve(Sizes sizes, int side,
                                                    const T* w,
                                                    const int32_t* segments,
                                                    const T* from, T* to) {
  extern __shared__ float weights[]; // [taps, lanes * n], by distance
  const int taps = int(sizes.taps);
  const int64_t first = int64_t(blockIdx.y) * (lanes * n);
  for (int i = int(threadIdx.y * lanes + threadIdx.x); i < taps * lanes * n;
       i += threads) {
    const int64_t channel = first + i / taps;
    weights[(taps - 1 - i % taps) * (lanes * n) + i / taps] =
        channel < sizes.channels ? float(w[first * taps + i]) : 0.0f;
  }
  __syncthreads();
  const int64_t channel = first + threadIdx.x * n;
  if (channel >= sizes.channels)
    return;
  const int64_t base = int64_t(blockIdx.z) * sizes.tokens;
  const int64_t begin = int64_t(blockIdx.x) * tileTokens;
  const int64_t end = min(begin + tileTokens, sizes.tokens);
  for (int64_t t = begin + threadIdx.y; t < end; t += warps) {
    const int reach = reachOf(segments + base, sizes.tokens, t, side, taps - 1);
    float sum[n] = {};
    for (int i = 0; i <= reach; ++i) {
      const auto row = Vector<T, n>::load(
          from + (base + t + side * i) * sizes.channels + channel);
      const float* weight = weights + i * (lanes * n) + threadIdx.x * n;
#pragma unroll
      for (int e = 0; e < n; ++e)
        sum[e] += weight[e] * row[e];
    }
    rounded<T, n>(sum).store(to + (base + t) * sizes.channels + channel);
  }
}

/// Block (piece of all tokens, chunk of channels, some taps): `partial`
/// [pieces, channels, taps] of dw.
template <int n, class T>
__global__ __launch_bounds__(threads) void correlate(Sizes sizes,
                                                     const int32_t* segments,
                                                     const T* dy, const T* x,
                                                     float* partial) {
  __shared__ float sums[warps][tapsAtOnce][lanes * n];
  const int64_t rows = sizes.sequences * sizes.tokens;
  const int64_t begin = rows * blockIdx.x / gridDim.x;
  const int64_t end = rows * (blockIdx.x + 1) / gridDim.x;
  const int64_t first = int64_t(blockIdx.y) * (lanes * n);
  const int64_t channel = first + threadIdx.x * n;
  const int64_t nearest = int64_t(blockIdx.z) * tapsAtOnce;
  const int64_t furthest = min(nearest + tapsAtOnce, sizes.taps) - 1;
  float sum[tapsAtOnce][n] = {};
  for (int64_t row = begin + threadIdx.y; row < end && channel < sizes.channels;
       row += warps) {
    const int64_t base = row / sizes.tokens * sizes.tokens;
    const int reach =
        reachOf(segments + base, sizes.tokens, row - base, -1, furthest);
    const auto slope = Vector<T, n>::load(dy + row * sizes.channels + channel);
#pragma unroll
    for (int i = 0; i < tapsAtOnce; ++i) {
      if (nearest + i > reach)
        break;
      const auto seen = Vector<T, n>::load(
          x + (row - nearest - i) * sizes.channels + channel);
#pragma unroll
      for (int e = 0; e < n; ++e)
        sum[i][e] += slope[e] * seen[e];
    }
  }
#pragma unroll
  for (int i = 0; i < tapsAtOnce; ++i)
#pragma unroll
    for (int e = 0; e < n; ++e)
      sums[threadIdx.y][i][threadIdx.x * n + e] = sum[i][e];
  __syncthreads();
  for (int j = int(threadIdx.y * lanes + threadIdx.x);
       j < tapsAtOnce * lanes * n; j += threads) {
    const int64_t distance = nearest + j / (lanes * n);
    const int64_t own = first + j % (lanes * n);
    if (distance > furthest || own >= sizes.channels)
      continue;
    float whole = 0;
    for (const auto& ofWarp : sums)
      whole += ofWarp[j / (lanes * n)][j % (lanes * n)];
    partial[(blockIdx.x * sizes.channels + own) * sizes.taps + sizes.taps - 1 -
            distance] = whole;
  }
}

/// Calls body(n), where n is the number of channels of a lane per access.
template <class T, class... Pointer, class Body>
void withChannels(const Sizes& sizes, Body body, const Pointer*... rows) {
  const int64_t bytes =
      sizes.taps * lanes * vectorLength<T> * int64_t(sizeof(float));
  withVectors<T>(bytes <= sharedBytes ? sizes.channels : 1, body, rows...);
}

template <class T>
void launchConvolution(const CudaKernelArgs& args, const Sizes& sizes, int side,
                       const Tensor& w, const Tensor& segments,
                       const Tensor& from, const Tensor& to) {
  auto run = [&](auto length) {
    constexpr int n = decltype(length)::value;
    const dim3 grid(unsigned(ceilDivide(sizes.tokens, tileTokens)),
                    unsigned(ceilDivide(sizes.channels, lanes * n)),
                    unsigned(sizes.sequences));
    const size_t bytes = size_t(sizes.taps) * lanes * n * sizeof(float);
    convolve<n><<<grid, dim3(lanes, warps), bytes, args.context.stream()>>>(
        sizes, side, w.as<T>(), segments.as<int32_t>(), from.as<T>(),
        to.as<T>());
  };
  withChannels<T>(sizes, run, from.as<T>(), to.as<T>());
}

template <class T>
void launchCorrelation(const CudaKernelArgs& args, const Sizes& sizes,
                       const Tensor& dy, const Tensor& x,
                       const Tensor& segments, const Tensor& dw) {
  float* const partial = args.context.scratch<float>();
  auto run = [&](auto length) {
    constexpr int n = decltype(length)::value;
    const int64_t chunks = ceilDivide(sizes.channels, lanes * n);
    const int64_t parts = ceilDivide(sizes.taps, tapsAtOnce);
    const int64_t wanted =
        ceilDivide(int64_t(4) * args.context.multiprocessors(), chunks * parts);
    const int64_t pieces = rowPieces(
        std::min(wanted, ceilDivide(sizes.sequences * sizes.tokens, warps)),
        sizes.channels * sizes.taps);
    correlate<n><<<dim3(unsigned(pieces), unsigned(chunks), unsigned(parts)),
                   dim3(lanes, warps), 0, args.context.stream()>>>(
        sizes, segments.as<int32_t>(), dy.as<T>(), x.as<T>(), partial);
    addPieces(args, pieces, partial, dw);
  };
  withChannels<T>(sizes, run, dy.as<T>(), x.as<T>());
}

/// Rejects sizes that the kernels do not support.
Status checkTaps(const Sizes& sizes) {
  constexpr int64_t most = sharedBytes / int64_t(sizeof(float)) / lanes;
  if (sizes.taps > most)
    return Status::error("causal_conv on GPUs takes up to " +
                         std::to_string(most) + " taps, not " +
                         std::to_string(sizes.taps));
  if (sizes.channels * sizes.taps >
      device::CudaContext::scratchCapacity<float>())
    return Status::error(
        "causal_conv on GPUs takes up to " +
        std::to_string(device::CudaContext::scratchCapacity<float>()) +
        " weights");
  return Status::ok();
}

} // namespace

Status causalConvCudaKernel(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const Sizes sizes(in[0], in[1]);
  RECIPERUN_TRY(checkTaps(sizes));
  return withDeviceType(args, in[0].type, [&]<class T>(DeviceType<T>) {
    if (!sizes.isEmpty())
      launchConvolution<T>(args, sizes, -1, in[1], in[2], in[0],
                           args.outputs[0]);
  });
}

Status causalConvBackwardCudaKernel(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const Tensor &dx = args.outputs[0], &dw = args.outputs[1];
  const Sizes sizes(in[1], in[2]);
  RECIPERUN_TRY(checkTaps(sizes));
  return withDeviceType(args, in[0].type, [&]<class T>(DeviceType<T>) {
    if (dw.present() && !sizes.isEmpty())
      launchCorrelation<T>(args, sizes, in[0], in[1], in[3], dw);
    if (dx.present() && !sizes.isEmpty())
      launchConvolution<T>(args, sizes, 1, in[2], in[3], in[0], dx);
  });
}

} // namespace reciperun::kernels
