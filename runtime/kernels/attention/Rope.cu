// Rotary positions on a GPU; see Rope.cpp.
//
// A thread processes n pairs of a token in several heads. Each head has two
// vectors, which are half a head apart, or consecutive if pairs are
// interleaved. All loads are in flight while the thread computes the pairs'
// cosines and sines, once for its heads, from frequencies passed as a kernel
// argument.

#include "runtime/kernels/attention/Rotation.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/OverlappedLaunch.cuh"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/kernels/common/RowTiles.cuh"

#include <numeric>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

using cuda::Rotation;

constexpr int mostHeads = 8; // per thread: limited by registers

/// Rows are tokens. A column is a group of n pairs of one of the first `step`
/// heads. Its thread also processes every `step`-th head after that.
template <class T, int n, int headsPerThread>
__global__ void __launch_bounds__(RowTiles::blockThreads, 2)
    turn(RowTiles tiles, int heads, const __grid_constant__ Rotation by,
         const int32_t* positions, const T* x, T* y) {
  startOverlapped();
  const int64_t token = tiles.row(0);
  if (token >= tiles.rows || tiles.column() >= tiles.columns)
    return;
  const int groups = by.half / n, step = int(tiles.columns) / groups;
  const int head = int(tiles.column()) / groups;
  const int first = int(tiles.column()) % groups * n;
  const int apart = by.template distance<n>();
  const int64_t begin = token * heads * by.width + by.offsetOf(first);
  Vector<T, n> parts[headsPerThread][2];
#pragma unroll
  for (int u = 0; u < headsPerThread; ++u) {
    const T* from = x + begin + min(head + u * step, heads - 1) * by.width;
    parts[u][0] = Vector<T, n>::load(from);
    parts[u][1] = Vector<T, n>::load(from + apart);
  }
  const float position = float(positions[token]);
  float cosines[n], sines[n];
#pragma unroll
  for (int e = 0; e < n; ++e)
    by.angleOf(first + e, position, cosines[e], sines[e]);
#pragma unroll
  for (int u = 0; u < headsPerThread; ++u) {
    if (head + u * step >= heads)
      return;
    Vector<T, n> turned[2];
    cuda::turnPairs(by, cosines, sines, parts[u], turned);
    T* to = y + begin + (head + u * step) * by.width;
    turned[0].store(to);
    turned[1].store(to + apart);
  }
}

template <class T, int n, int headsPerThread>
void launch(const CudaKernelArgs& args, const Rotation& by, int64_t tokens,
            int heads) {
  const int64_t first = ceilDivide(heads, headsPerThread);
  const RowTiles tiles(tokens, first * (by.half / n), 1);
  launchOverlapped(args.context, turn<T, n, headsPerThread>, tiles.blocks(),
                   tiles.threads(), 0, tiles, heads, by,
                   args.inputs[1].as<int32_t>(), args.inputs[0].as<T>(),
                   args.outputs[0].as<T>());
}

template <class T, int n>
void launch(const CudaKernelArgs& args, const Rotation& by, int64_t tokens,
            int heads) {
  constexpr int64_t fewTokens = 64; // which would not fill the GPU
  if (heads >= mostHeads && tokens > fewTokens)
    launch<T, n, mostHeads>(args, by, tokens, heads);
  else
    launch<T, n, 1>(args, by, tokens, heads);
}

/// Copies the part of each head that is not rotated.
Status copyRest(const CudaKernelArgs& args, const Rotation& by, int64_t rows) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t element = plan::byteSize(x.type);
  const int64_t stride = by.width * element, turned = 2 * by.half * element;
  if (x.data == y.data || turned == stride)
    return Status::ok();
  const int64_t rest = stride - turned;
  return copyRows(args,
                  {y.as<std::byte>() + turned, rows, stride, rest, 0, rest},
                  EvenRows{x.as<std::byte>() + turned, stride});
}

} // namespace

Status ropeCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t width = x.shape.back(), tokens = args.inputs[1].elements();
  const int64_t heads = x.elements() / tokens / width;
  Rotation by;
  RECIPERUN_TRY(cuda::readRotation(args.op, width, by));
  RECIPERUN_TRY(withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        std::gcd(int64_t(by.half), width),
        [&](auto n) { launch<T, n.value>(args, by, tokens, int(heads)); },
        x.data, y.data);
  }));
  return copyRest(args, by, tokens * heads);
}

} // namespace reciperun::kernels
