// y = w (x - m) r and its gradients on a GPU; see LayerNorm.cpp, and RmsNorm.cu
// for how rows are taken.

#include "runtime/kernels/BlockSums.cuh"
#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/NormWeights.cuh"
#include "runtime/kernels/RowParts.cuh"
#include "runtime/kernels/RowSums.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::OpKind;

template <class T> struct Forward {
  int64_t rows;
  int width;
  float eps;
  NormWeight<T> weight;
  const T* x;
  T* y;
  float* mean;
  float* rstd;
};

template <class T, int vectors, int mostThreads, bool whole>
__global__ void __launch_bounds__(mostThreads) forward(Forward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
  const int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  const int width = row < a.rows ? a.width : 0;
  Part x;
  x.load(a.x + row * a.width, width);
  const WeightPart<T, vectors, whole> weight(a.weight, a.width);
  float sum[1] = {0}, squares[1] = {0};
#pragma unroll
  for (int v = 0; v < vectors; ++v)
#pragma unroll
    for (int e = 0; e < Part::n; ++e)
      sum[0] += x.parts[v][e];
  sumAcrossRow(sum, room[0]);
  const float mean = sum[0] / float(a.width);
  // The squares of what is left of the mean lose no digits to it.
#pragma unroll
  for (int v = 0; v < vectors; ++v)
#pragma unroll
    for (int e = 0; e < Part::n; ++e) {
      const float left = x.parts[v][e] - mean;
      squares[0] += Part::column(v) + e < width ? left * left : 0;
    }
  sumAcrossRow(squares, room[1]);
  const float rstd = 1.0f / sqrtf(squares[0] / float(a.width) + a.eps);
  if (threadIdx.x == 0 && row < a.rows) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    float y[Part::n];
#pragma unroll
    for (int e = 0; e < Part::n; ++e)
      y[e] = (x.parts[v][e] - mean) * rstd * weight(v, e);
    Part::store(a.y + row * a.width, width, v, y);
  }
}

template <class T> struct Backward {
  int64_t rows;
  int width;
  NormWeight<T> weight;
  const T* dy;
  const T* x;
  const float* mean;
  const float* rstd;
  T* dx;
  float* partial; // [blocks, width], or null
};

template <class T, int vectors, int mostThreads, bool whole>
__global__ void __launch_bounds__(mostThreads) backward(Backward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][64];
  extern __shared__ float sumsOfRows[];
  const WeightPart<T, vectors, whole> weight(a.weight, a.width);
  float dw[vectors][Part::n] = {};
  Part dy, x;
  auto load = [&](int64_t row) {
    const int width = row < a.rows ? a.width : 0;
    dy.load(a.dy + row * a.width, width);
    x.load(a.x + row * a.width, width);
  };
  const int64_t step = int64_t(gridDim.x) * blockDim.y;
  int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  load(row);
  int turn = 0;
  // All threads of a block go round as often.
  for (int64_t first = int64_t(blockIdx.x) * blockDim.y; first < a.rows;
       first += step, row += step) {
    const Part slope = dy, input = x;
    load(row + step);
    const bool isInside = row < a.rows;
    const float mean = isInside ? a.mean[row] : 0;
    const float rstd = isInside ? a.rstd[row] : 0;
    // dy is 0 behind the row's end, and with it all that is summed.
    float sums[2] = {0, 0};
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float normed = (input.parts[v][e] - mean) * rstd;
        const float pulled = weight(v, e) * slope.parts[v][e];
        sums[0] += pulled;
        sums[1] += pulled * normed;
        dw[v][e] += slope.parts[v][e] * normed;
      }
    sumAcrossRow(sums, room[turn]);
    turn ^= 1;
    const float level = sums[0] / float(a.width);
    const float tilt = sums[1] / float(a.width);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float dx[Part::n];
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float normed = (input.parts[v][e] - mean) * rstd;
        dx[e] =
            rstd * (weight(v, e) * slope.parts[v][e] - level - normed * tilt);
      }
      Part::store(a.dx + row * a.width, isInside ? a.width : 0, v, dx);
    }
  }
  if (a.partial)
    storeBlockSums<Part>(dw, sumsOfRows, a.width,
                         a.partial + int64_t(blockIdx.x) * a.width);
}

template <class T> Status runForward(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const int64_t width = w.elements(), rows = x.elements() / width;
  const Forward<T> operands{rows,
                            int(width),
                            float(args.op.real("eps")),
                            normWeight<T>(args, w),
                            x.as<T>(),
                            y.as<T>(),
                            args.outputs[1].as<float>(),
                            args.outputs[2].as<float>()};
  return withRowBlock<T>(
      width, areAligned(16, x.data, w.data, y.data),
      [&](auto vectors, auto most, auto whole, const RowBlock& block) {
        forward<T, vectors.value, most.value, whole.value>
            <<<unsigned(block.blocks(rows)), block.threads, 0,
               args.context.stream()>>>(operands);
      });
}

template <class T> Status runBackward(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[0], &x = args.inputs[1], &w = args.inputs[2],
               &dx = args.outputs[0], &dw = args.outputs[1];
  const int64_t width = w.elements(), rows = x.elements() / width;
  Backward<T> operands{rows,
                       int(width),
                       normWeight<T>(args, w),
                       dy.as<T>(),
                       x.as<T>(),
                       args.inputs[3].as<float>(),
                       args.inputs[4].as<float>(),
                       dx.as<T>(),
                       nullptr};
  if (dw.present())
    operands.partial = args.context.scratch<float>();
  return withRowBlock<T>(
      width, areAligned(16, dy.data, x.data, w.data, dx.data),
      [&](auto vectors, auto most, auto whole, const RowBlock& block) {
        const int64_t blocks =
            rowPieces(blocksOfSums(args, block, rows), width);
        backward<T, vectors.value, most.value, whole.value>
            <<<unsigned(blocks), block.threads, blockSumBytes(block, width),
               args.context.stream()>>>(operands);
        if (dw.present())
          addPieces(args, blocks, operands.partial, dw);
      });
}

} // namespace

template <> Status cudaKernel<OpKind::LayerNorm>(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runForward<T>(args);
  });
}

template <>
Status cudaKernel<OpKind::LayerNormBackward>(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runBackward<T>(args);
  });
}

} // namespace reciperun::kernels
