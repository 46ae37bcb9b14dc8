// Rotary positions on a GPU; see Rope.cpp.
//
//   1. A block computes the cosines and sines of its tokens, once for all
//      heads, from frequencies that come with the launch.
//   2. A thread turns n pairs of a head: two vectors, which lie half a head
//      apart, or behind one another where pairs are interleaved.

#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/RopeFrequencies.h"
#include "runtime/kernels/RowCopies.cuh"
#include "runtime/kernels/RowTiles.cuh"

#include <string>
#include <utility>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::OpKind;

constexpr int64_t mostPairs = 512;
constexpr int rowsPerThread = 2; // four would halve the blocks at a time

struct Rotation {
  int heads;
  int width; // of a head
  int half;  // pairs of it that are turned
  bool isInterleaved;
  float sign;
  float frequencies[mostPairs];

  __device__ int64_t tokenLength() const { return int64_t(heads) * width; }
};

/// The two vectors of n pairs, from pair `first` of a head on.
template <class T, int n>
__device__ void turnPairs(const Rotation& by, int first, const float* cosines,
                          const float* sines, const Vector<T, n> (&x)[2],
                          Vector<T, n> (&y)[2]) {
  float turned[2][n];
  if (by.isInterleaved) {
    if constexpr (n > 1) {
      // Pairs follow one another through both vectors.
#pragma unroll
      for (int e = 0; e < 2 * n; e += 2) {
        const float a = x[e / n][e % n], b = x[e / n][e % n + 1];
        const float c = cosines[first + e / 2], s = sines[first + e / 2];
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
    const float c = cosines[first + e], s = sines[first + e];
    turned[0][e] = a * c - b * s;
    turned[1][e] = b * c + a * s;
  }
  y[0] = rounded<T, n>(turned[0]);
  y[1] = rounded<T, n>(turned[1]);
}

/// Rows are tokens, columns groups of n pairs of all heads.
template <class T, int n, int perThread>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    turn(RowTiles tiles, const __grid_constant__ Rotation by,
         const int32_t* positions, const T* x, T* y) {
  extern __shared__ float angles[]; // [tokens of the block, 2, half]
  const int groups = by.half / n;
  const int head = int(tiles.column()) / groups;
  const int first = int(tiles.column()) % groups * n;
  const int at = head * by.width + (by.isInterleaved ? 2 * first : first);
  const int apart = by.isInterleaved ? n : by.half;
  const bool isInside = tiles.column() < tiles.columns;
  // Under way while the angles are computed.
  Vector<T, n> parts[perThread][2];
#pragma unroll
  for (int u = 0; u < perThread; ++u)
    if (tiles.row(u) < tiles.rows && isInside) {
      const T* from = x + tiles.row(u) * by.tokenLength() + at;
      parts[u][0] = Vector<T, n>::load(from);
      parts[u][1] = Vector<T, n>::load(from + apart);
    }
  const int64_t left = tiles.rows - tiles.firstRow();
  const int tokens = int(min(left, int64_t(blockDim.y) * perThread));
  const int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
  for (int i = thread; i < tokens * by.half; i += RowTiles::blockThreads) {
    // In float, as on the CPU and in transformers: their rounding is ours.
    const int token = i / by.half, pair = i % by.half;
    const float position = float(positions[tiles.firstRow() + token]);
    float sine, cosine;
    sincosf(position * by.frequencies[pair], &sine, &cosine);
    angles[2 * token * by.half + pair] = cosine;
    angles[(2 * token + 1) * by.half + pair] = by.sign * sine;
  }
  __syncthreads();
  if (!isInside)
    return;
#pragma unroll
  for (int u = 0; u < perThread; ++u) {
    if (tiles.row(u) >= tiles.rows)
      return;
    const float* cosines =
        angles + 2 * (tiles.row(u) - tiles.firstRow()) * by.half;
    Vector<T, n> turned[2];
    turnPairs(by, first, cosines, cosines + by.half, parts[u], turned);
    T* to = y + tiles.row(u) * by.tokenLength() + at;
    turned[0].store(to);
    turned[1].store(to + apart);
  }
}

template <class T, int n, int perThread>
void launch(const CudaKernelArgs& args, const Rotation& by, int64_t tokens) {
  const RowTiles tiles(tokens, int64_t(by.heads) * (by.half / n), perThread);
  const size_t bytes =
      size_t(tiles.rowsOfBlock()) * 2 * size_t(by.half) * sizeof(float);
  turn<T, n, perThread>
      <<<tiles.blocks(), tiles.threads(), bytes, args.context.stream()>>>(
          tiles, by, args.inputs[1].as<int32_t>(), args.inputs[0].as<T>(),
          args.outputs[0].as<T>());
}

template <class T, int n>
void launch(const CudaKernelArgs& args, const Rotation& by, int64_t tokens) {
  // A block of few heads has many tokens, whose cosines take shared memory.
  if (by.heads >= rowsPerThread)
    launch<T, n, rowsPerThread>(args, by, tokens);
  else
    launch<T, n, 1>(args, by, tokens);
}

/// What is behind the rotated part of each head stays.
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

template <> Status cudaKernel<OpKind::Rope>(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t width = x.shape.back(), part = args.op.integer("rotated");
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
  by.isInterleaved = args.op.flag("interleaved");
  by.sign = args.op.flag("inverse") ? -1.0f : 1.0f;
  const std::vector<double> frequencies = ropeFrequencies(args.op, half);
  for (size_t i = 0; i < frequencies.size(); ++i)
    by.frequencies[i] = float(frequencies[i]);
  RECIPERUN_TRY(withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    constexpr int n = vectorLength<T>;
    if (half % n == 0 && width % n == 0 && areAligned(16, x.data, y.data))
      launch<T, n>(args, by, tokens);
    else
      launch<T, 1>(args, by, tokens);
  }));
  return copyRest(args, by, tokens);
}

} // namespace reciperun::kernels
