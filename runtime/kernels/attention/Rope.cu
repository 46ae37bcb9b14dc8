// Rotary positions on a GPU; see Rope.cpp.
//
// A thread processes n pairs of a token in several heads. Each head has two
// vectors, which are half a head apart, or consecutive if pairs are
// interleaved. All loads are in flight while the thread computes the pairs'
// cosines and sines, once for its heads, from frequencies passed as a kernel
// argument.

#include "runtime/kernels/attention/RopeFrequencies.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/OverlappedLaunch.cuh"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/kernels/common/RowTiles.cuh"
#include "runtime/ops/AttentionOps.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int64_t mostPairs = 512;
constexpr int mostHeads = 8; // per thread: limited by registers

struct Rotation {
  int heads;
  int width; // of a head
  int half;  // rotated pairs of a head
  bool isInterleaved;
  float sign;
  float frequencies[mostPairs];

  __device__ int64_t tokenLength() const { return int64_t(heads) * width; }
};

/// Rotates the n pairs in two vectors.
template <class T, int n>
__device__ void turnPairs(const Rotation& by, const float (&cosines)[n],
                          const float (&sines)[n], const Vector<T, n> (&x)[2],
                          Vector<T, n> (&y)[2]) {
  float turned[2][n];
  if (by.isInterleaved) {
    if constexpr (n > 1) {
      // Interleaved pairs are consecutive elements across both vectors.
#pragma unroll
      for (int e = 0; e < 2 * n; e += 2) {
        const float a = x[e / n][e % n], b = x[e / n][e % n + 1];
        const float c = cosines[e / 2], s = sines[e / 2];
        turned[e / n][e % n] = a * c - b * s;
        turned[e / n][e % n + 1] = b * c + a * s;
      }
      y[0] = rounded<T, n>(turned[0]);
      y[1] = rounded<T, n>(turned[1]);
      return;
    }
  }
#pragma unroll
  for (int e = 0; e < n; ++e) {
    const float a = x[0][e], b = x[1][e];
    const float c = cosines[e], s = sines[e];
    turned[0][e] = a * c - b * s;
    turned[1][e] = b * c + a * s;
  }
  y[0] = rounded<T, n>(turned[0]);
  y[1] = rounded<T, n>(turned[1]);
}

/// Rows are tokens. A column is a group of n pairs of one of the first `step`
/// heads. Its thread also processes every `step`-th head after that.
template <class T, int n, int headsPerThread>
__global__ void __launch_bounds__(RowTiles::blockThreads, 2)
    turn(RowTiles tiles, const __grid_constant__ Rotation by,
         const int32_t* positions, const T* x, T* y) {
  startOverlapped();
  const int64_t token = tiles.row(0);
  if (token >= tiles.rows || tiles.column() >= tiles.columns)
    return;
  const int groups = by.half / n, step = int(tiles.columns) / groups;
  const int head = int(tiles.column()) / groups;
  const int first = int(tiles.column()) % groups * n;
  const int apart = by.isInterleaved ? n : by.half;
  const int64_t begin =
      token * by.tokenLength() + (by.isInterleaved ? 2 * first : first);
  Vector<T, n> parts[headsPerThread][2];
#pragma unroll
  for (int u = 0; u < headsPerThread; ++u) {
    const T* from = x + begin + min(head + u * step, by.heads - 1) * by.width;
    parts[u][0] = Vector<T, n>::load(from);
    parts[u][1] = Vector<T, n>::load(from + apart);
  }
  const float position = float(positions[token]);
  float cosines[n], sines[n];
#pragma unroll
  for (int e = 0; e < n; ++e) {
    // Computed in float, like on the CPU and in transformers, to get the same
    // rounding.
    sincosf(position * by.frequencies[first + e], &sines[e], &cosines[e]);
    sines[e] *= by.sign;
  }
#pragma unroll
  for (int u = 0; u < headsPerThread; ++u) {
    if (head + u * step >= by.heads)
      return;
    Vector<T, n> turned[2];
    turnPairs(by, cosines, sines, parts[u], turned);
    T* to = y + begin + (head + u * step) * by.width;
    turned[0].store(to);
    turned[1].store(to + apart);
  }
}

template <class T, int n, int headsPerThread>
void launch(const CudaKernelArgs& args, const Rotation& by, int64_t tokens) {
  const int64_t first = ceilDivide(by.heads, headsPerThread);
  const RowTiles tiles(tokens, first * (by.half / n), 1);
  launchOverlapped(args.context, turn<T, n, headsPerThread>, tiles.blocks(),
                   tiles.threads(), 0, tiles, by, args.inputs[1].as<int32_t>(),
                   args.inputs[0].as<T>(), args.outputs[0].as<T>());
}

template <class T, int n>
void launch(const CudaKernelArgs& args, const Rotation& by, int64_t tokens) {
  constexpr int64_t fewTokens = 64; // which would not fill the GPU
  if (by.heads >= mostHeads && tokens > fewTokens)
    launch<T, n, mostHeads>(args, by, tokens);
  else
    launch<T, n, 1>(args, by, tokens);
}

/// Copies the part of each head that is not rotated.
Status copyRest(const CudaKernelArgs& args, const Rotation& by,
                int64_t tokens) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t element = plan::byteSize(x.type);
  const int64_t stride = by.width * element, turned = 2 * by.half * element;
  if (x.data == y.data || turned == stride)
    return Status::ok();
  const int64_t rest = stride - turned;
  return copyRows(
      args,
      {y.as<std::byte>() + turned, tokens * by.heads, stride, rest, 0, rest},
      EvenRows{x.as<std::byte>() + turned, stride});
}

} // namespace

Status ropeCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const ops::RopeAttributes attributes(args.op.attributes);
  const int64_t width = x.shape.back(), part = attributes.rotated;
  const int64_t tokens = args.inputs[1].elements();
  const int64_t half = (part > 0 ? part : width) / 2;
  if (half > mostPairs)
    return Status::error("it turns " + std::to_string(half) +
                         " pairs of a head, and on GPUs it turns at most " +
                         std::to_string(mostPairs));
  Rotation by;
  by.heads = int(x.elements() / tokens / width);
  by.width = int(width);
  by.half = int(half);
  by.isInterleaved = attributes.interleaved;
  by.sign = attributes.inverse ? -1.0f : 1.0f;
  const std::vector<double> frequencies = ropeFrequencies(args.op, half);
  for (size_t i = 0; i < frequencies.size(); ++i)
    by.frequencies[i] = float(frequencies[i]);
  RECIPERUN_TRY(withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        std::gcd(half, width),
        [&](auto n) { launch<T, n.value>(args, by, tokens); }, x.data, y.data);
  }));
  return copyRest(args, by, tokens);
}

} // namespace reciperun::kernels
