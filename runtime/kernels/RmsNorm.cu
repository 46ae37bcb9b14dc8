// y = w x / sqrt(mean(x^2) + eps) and its gradients on a GPU; see RmsNorm.cpp.
//
// Forward, a row is read once, into registers. Backward, a block goes through
// many rows, loads the next one while it works on one, and keeps the sums of
// its columns' weight gradients in registers.

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
  float* rstd;
};

template <class T, int vectors, int mostThreads, bool whole>
__global__ void __launch_bounds__(mostThreads) forward(Forward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[32];
  const int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  const int width = row < a.rows ? a.width : 0;
  Part x;
  x.load(a.x + row * a.width, width);
  const WeightPart<T, vectors, whole> weight(a.weight, a.width);
  float squares[1] = {0};
#pragma unroll
  for (int v = 0; v < vectors; ++v)
#pragma unroll
    for (int e = 0; e < Part::n; ++e)
      squares[0] += x.parts[v][e] * x.parts[v][e];
  sumAcrossRow(squares, room);
  const float rstd = 1.0f / sqrtf(squares[0] / float(a.width) + a.eps);
  if (threadIdx.x == 0 && row < a.rows)
    a.rstd[row] = rstd;
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    float y[Part::n];
#pragma unroll
    for (int e = 0; e < Part::n; ++e)
      y[e] = x.parts[v][e] * rstd * weight(v, e);
    Part::store(a.y + row * a.width, width, v, y);
  }
}

template <class T> struct Backward {
  int64_t rows;
  int width;
  NormWeight<T> weight;
  const T* dy;
  const T* x;
  const float* rstd;
  T* dx;
  float* partial; // [blocks, width], or null
};

template <class T, int vectors, int mostThreads, bool whole>
__global__ void __launch_bounds__(mostThreads) backward(Backward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
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
    const float rstd = isInside ? a.rstd[row] : 0;
    float product[1] = {0};
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float both = slope.parts[v][e] * input.parts[v][e];
        product[0] += weight(v, e) * both;
        dw[v][e] += both * rstd;
      }
    sumAcrossRow(product, room[turn]);
    turn ^= 1;
    const float pull = product[0] * rstd * rstd * rstd / float(a.width);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float dx[Part::n];
#pragma unroll
      for (int e = 0; e < Part::n; ++e)
        dx[e] =
            rstd * weight(v, e) * slope.parts[v][e] - input.parts[v][e] * pull;
      Part::store(a.dx + row * a.width, isInside ? a.width : 0, v, dx);
    }
  }
  if (a.partial)
    storeBlockSums<Part>(dw, sumsOfRows, a.width,
                         a.partial + int64_t(blockIdx.x) * a.width);
}

template <class T> Status runForward(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const int64_t width = x.shape.back(), rows = x.elements() / width;
  const Forward<T> operands{
      rows,      int(width), float(args.op.real("eps")), normWeight<T>(args, w),
      x.as<T>(), y.as<T>(),  args.outputs[1].as<float>()};
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
  const int64_t width = x.shape.back(), rows = x.elements() / width;
  Backward<T> operands{rows,       int(width), normWeight<T>(args, w),
                       dy.as<T>(), x.as<T>(),  args.inputs[3].as<float>(),
                       dx.as<T>(), nullptr};
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

template <> Status cudaKernel<OpKind::RmsNorm>(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runForward<T>(args);
  });
}

template <>
Status cudaKernel<OpKind::RmsNormBackward>(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runBackward<T>(args);
  });
}

} // namespace reciperun::kernels
