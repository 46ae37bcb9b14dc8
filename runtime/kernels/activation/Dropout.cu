// Dropout on a GPU, with the same random numbers as on the CPU; see
// Dropout.cpp.
//
// A thread processes a vector of a row. The random words of its elements come
// from one or two Philox blocks if the row starts at a multiple of four.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Philox.h"
#include "runtime/kernels/common/RowTiles.cuh"
#include "runtime/ops/ActivationOps.h"

#include <cmath>
#include <string>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int rowsPerThread = 4;
constexpr int mostDimensions = 6; // after samples and tokens

/// Maps the rows of x, runs of its last dimension, to indices in the unsharded
/// sample.
struct RowNumbering {
  const int64_t* samples;
  const int32_t* places;
  int64_t tokensOfSample;
  int64_t rowsOfToken = 1;
  int dimensions = 0; // after samples and tokens
  int64_t local[mostDimensions], global[mostDimensions], begin[mostDimensions];

  __device__ uint64_t sampleOf(int64_t row) const {
    return uint64_t(samples[row / rowsOfToken / tokensOfSample]);
  }

  /// The index in the unsharded sample of the first element of a row.
  __device__ uint64_t firstOf(int64_t row) const {
    int64_t result = 0, stride = 1;
    if (dimensions > 0) {
      result = begin[dimensions - 1];
      stride = global[dimensions - 1];
    }
    const int64_t place = places[row / rowsOfToken];
    for (int i = dimensions - 2; i >= 0; --i) {
      result += (row % local[i] + begin[i]) * stride;
      row /= local[i];
      stride *= global[i];
    }
    return uint64_t(result + place * stride);
  }
};

RowNumbering numberingOf(const CudaKernelArgs& args) {
  const auto shape = args.inputs[0].shape;
  const ops::DropoutAttributes attributes(args.op.attributes);
  const std::vector<std::string>& axes = attributes.axes;
  RowNumbering rows;
  rows.samples = args.inputs[1].as<int64_t>();
  rows.places = args.inputs[2].as<int32_t>();
  rows.tokensOfSample = shape[1];
  for (size_t i = 2; i < shape.size(); ++i) {
    const std::string axis = axes.empty() ? "" : axes[i];
    const int number = rows.dimensions++;
    rows.local[number] = shape[i];
    rows.global[number] = shape[i] * plan::axisSize(args.mesh, axis);
    rows.begin[number] = shape[i] * args.coordinate(axis);
    if (i + 1 < shape.size())
      rows.rowsOfToken *= shape[i];
  }
  return rows;
}

/// The parameters that decide whether an element is kept.
struct Draw {
  PhiloxKey key;
  uint32_t threshold; // words below it drop the element
  float scale;        // of kept elements
};

Draw drawOf(const plan::Op& op) {
  const ops::DropoutAttributes attributes(op.attributes);
  const double p = attributes.p;
  return {philoxKey(uint64_t(attributes.seed), uint64_t(attributes.stream)),
          uint32_t(std::floor(p * 0x1p32)), float(1 / (1 - p))};
}

/// The random words of elements `number` to `number` + n of a sample.
template <int n>
__device__ void drawWords(const Draw& draw, uint64_t sample, uint64_t number,
                          uint32_t (&words)[n]) {
  if constexpr (n % 4 == 0)
    if (number % 4 == 0) {
#pragma unroll
      for (int e = 0; e < n; e += 4) {
        const PhiloxCounter drawn =
            philox(philoxCounter((number + e) / 4, sample), draw.key);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          words[e + i] = drawn[i];
      }
      return;
    }
#pragma unroll
  for (int e = 0; e < n; ++e) {
    const PhiloxCounter drawn =
        philox(philoxCounter((number + e) / 4, sample), draw.key);
    const int i = int((number + e) % 4);
    words[e] =
        i < 2 ? (i == 0 ? drawn[0] : drawn[1]) : (i == 2 ? drawn[2] : drawn[3]);
  }
}

template <class T, int n>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    drop(RowTiles tiles, Draw draw, const __grid_constant__ RowNumbering rows,
         const T* x, T* y) {
  constexpr int mostRows = RowTiles::blockThreads * rowsPerThread;
  __shared__ uint64_t sample[mostRows], first[mostRows];
  const int64_t width = tiles.columns * n, at = tiles.column() * n;
  // These loads are in flight while the row indices are computed.
  Vector<T, n> parts[rowsPerThread];
#pragma unroll
  for (int u = 0; u < rowsPerThread; ++u)
    if (tiles.row(u) < tiles.rows && at < width)
      parts[u] = Vector<T, n>::load(x + tiles.row(u) * width + at);
  tiles.forRowsOfBlock([&](int64_t row, int number) {
    sample[number] = rows.sampleOf(row);
    first[number] = rows.firstOf(row);
  });
  if (at >= width)
    return;
#pragma unroll
  for (int u = 0; u < rowsPerThread; ++u) {
    if (tiles.row(u) >= tiles.rows)
      return;
    const int64_t number = tiles.row(u) - tiles.firstRow();
    uint32_t words[n];
    drawWords(draw, sample[number], first[number] + uint64_t(at), words);
    float values[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      values[e] = words[e] >= draw.threshold ? parts[u][e] * draw.scale : 0;
    rounded<T, n>(values).store(y + tiles.row(u) * width + at);
  }
}

template <class T, int n>
void launch(const CudaKernelArgs& args, const RowNumbering& rows,
            int64_t width) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowTiles tiles(x.elements() / width, width / n, rowsPerThread);
  drop<T, n><<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
      tiles, drawOf(args.op), rows, x.as<T>(), y.as<T>());
}

} // namespace

Status dropoutCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  if (x.shape.size() > size_t(2 + mostDimensions))
    return Status::error("it has " + std::to_string(x.shape.size()) +
                         " dimensions, and on GPUs at most " +
                         std::to_string(2 + mostDimensions));
  const RowNumbering rows = numberingOf(args);
  const int64_t width = x.shape.size() > 2 ? x.shape.back() : 1;
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width, [&](auto n) { launch<T, n.value>(args, rows, width); }, x.data,
        y.data);
  });
}

} // namespace reciperun::kernels
