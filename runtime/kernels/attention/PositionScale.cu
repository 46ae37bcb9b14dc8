// y = x (1 + scale log(floor((p + 1) / floor) + 1)) for a token at position p,
// on a GPU. A thread block computes the factors of its tokens once, in f64 like
// the CPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowTiles.cuh"
#include "runtime/ops/AttentionOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int rowsPerThread = 4;

struct Rule {
  double floor, scale;

  __device__ float factor(int32_t position) const {
    const double steps = ::floor((double(position) + 1) / floor);
    return float(1 + scale * log(steps + 1));
  }
};

template <class T, int n>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    scaleRows(RowTiles tiles, Rule rule, const int32_t* positions, const T* x,
              T* y) {
  __shared__ float factors[RowTiles::blockThreads * rowsPerThread];
  const int64_t width = tiles.columns * n, at = tiles.column() * n;
  // These loads are in flight while the factors are computed.
  Vector<T, n> parts[rowsPerThread];
#pragma unroll
  for (int u = 0; u < rowsPerThread; ++u)
    if (tiles.row(u) < tiles.rows && at < width)
      parts[u] = Vector<T, n>::load(x + tiles.row(u) * width + at);
  tiles.forRowsOfBlock([&](int64_t row, int number) {
    factors[number] = rule.factor(positions[row]);
  });
  if (at >= width)
    return;
#pragma unroll
  for (int u = 0; u < rowsPerThread; ++u) {
    if (tiles.row(u) >= tiles.rows)
      return;
    const float factor = factors[tiles.row(u) - tiles.firstRow()];
    float values[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      values[e] = parts[u][e] * factor;
    rounded<T, n>(values).store(y + tiles.row(u) * width + at);
  }
}

template <class T, int n>
void launch(const CudaKernelArgs& args, int64_t tokens, int64_t width) {
  const Rule rule{ops::PositionScaleAttributes(args.op.attributes).floor,
                  ops::PositionScaleAttributes(args.op.attributes).scale};
  const RowTiles tiles(tokens, width / n, rowsPerThread);
  scaleRows<T, n>
      <<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
          tiles, rule, args.inputs[1].as<int32_t>(), args.inputs[0].as<T>(),
          args.outputs[0].as<T>());
}

} // namespace

Status positionScaleCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t tokens = args.inputs[1].elements();
  const int64_t width = x.elements() / tokens;
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width, [&](auto n) { launch<T, n.value>(args, tokens, width); }, x.data,
        y.data);
  });
}

} // namespace reciperun::kernels
