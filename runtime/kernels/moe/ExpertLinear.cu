// y[e] = x[e] w[e]^T for each expert e on a GPU, and its gradients.
//
// Counts are in device memory, and the host does not wait for them. In bf16 the
// blocks of a grid iterate over the tiles (GroupedMatmul.cuh). Its copies
// require rows that start at multiples of 16 bytes. Otherwise, and in f32,
// simple blocks multiply: the grid has as many blocks as there can be tiles,
// and each block finds its own:
//   rows: a group's block of `height` rows is cut into the rows of its experts
//     and the rest, each into tiles of 128: at most ceil(height / 128) +
//     members tiles. Extra blocks do nothing, and the tiles of the rest write
//     zeros.
//   weights: one block computes a tile of dw[e]. It accumulates the expert's
//     rows in all blocks of its group in f32, in order, and adds them to dw
//     once.
// The GPU kernels do not use the plan's workspace, in which the CPU
// accumulates.

#include "runtime/device/cuda/TensorMaps.h"
#include "runtime/kernels/common/BlockMatmul.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/moe/ExpertLayout.cuh"
#include "runtime/kernels/moe/GroupedMatmul.cuh"
#include "runtime/ops/ExpertOps.h"

#include <algorithm>
#include <initializer_list>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::DType;
using namespace cuda;

/// Writes the results of a matmul.
template <class Out> struct Target {
  Out* data;
  int64_t stride;
  int rows, columns;
  float alpha;
  bool isAdded;

  __device__ void store(int row, int column, float first, float second) const {
    if (row >= rows)
      return;
    Out* const to = data + row * stride + column;
    if (column < columns)
      put(to[0], first);
    if (column + 1 < columns)
      put(to[1], second);
  }

private:
  __device__ void put(Out& element, float value) const {
    value *= alpha;
    element = rounded<Out>(isAdded ? float(element) + value : value);
  }
};

template <class T> struct RowsData {
  const T *in, *w;
  T* out;
  int from, to;
  float alpha;
  bool isAdded;
};

/// out = in w^T, or in w if `across`, expert by expert.
template <class T, bool across>
__global__ __launch_bounds__(matmulThreads) void multiplyRows(
    const __grid_constant__ ExpertLayout layout,
    const __grid_constant__ RowsData<T> data) {
  extern __shared__ __align__(128) char shared[];
  using Matmul = BlockMatmul<T, false, across>;
  TileWalk walk(layout, matmulSide, data.isAdded, int(blockIdx.z), 1);
  TileWalk::Found found;
  if (!walk.find(int(blockIdx.y), 1, found))
    return;
  Run run = found.run;
  run.first += found.inside * matmulSide;
  run.count = min(run.count - found.inside * matmulSide, int64_t(matmulSide));
  const bool isUnused = run.expert == layout.members;
  const int column = int(blockIdx.x) * matmulSide;
  Matmul product(shared);
  const T* const w =
      data.w + (int64_t(found.group) * layout.members + run.expert) *
                   data.from * data.to;
  product.run(
      isUnused ? 0 : (data.from + Matmul::depth - 1) / Matmul::depth,
      [&](int step) {
        const int begin = step * Matmul::depth;
        const RowSource<T> a{data.in + run.first * data.from + begin, data.from,
                             int(run.count), data.from - begin, false};
        const RowSource<T> b =
            across
                ? RowSource<T>{w + int64_t(begin) * data.to + column, data.to,
                               data.from - begin, data.to - column, false}
                : RowSource<T>{w + int64_t(column) * data.from + begin,
                               data.from, data.to - column, data.from - begin,
                               false};
        return MatmulStep<T>{a, b};
      });
  const Target<T> target{data.out + run.first * data.to + column,
                         data.to,
                         int(run.count),
                         data.to - column,
                         data.alpha,
                         data.isAdded};
  product.forEachPair([&](int row, int at, float first, float second) {
    target.store(row, at, first, second);
  });
}

template <class T, class Out> struct WeightsData {
  const T *left, *right; // [rows, height], [rows, width]
  Out* dw;               // [experts, height, width] += left^T right
  int height, width;
  float alpha;
  bool isAdded;
};

/// Iterates over an expert's rows in steps of `depth`, block after block.
template <int depth> class ExpertSteps {
public:
  __device__ ExpertSteps(const ExpertLayout& layout, int expert)
      : layout(layout), expert(expert) {}

  __device__ int count() const {
    int64_t steps = 0;
    for (int b = 0; b < layout.blocks; ++b)
      steps += (runOf(layout, expert, b).count + depth - 1) / depth;
    return int(steps);
  }
  /// The rows of the next step.
  __device__ Run next() {
    while (run.count == 0)
      run = runOf(layout, expert, block++);
    const Run step{expert, run.first, min(run.count, int64_t(depth))};
    run.first += step.count;
    run.count -= step.count;
    return step;
  }

private:
  const ExpertLayout& layout;
  int expert, block = 0;
  Run run = {};
};

template <class T, class Out>
__global__ __launch_bounds__(matmulThreads) void addWeightGradient(
    const __grid_constant__ ExpertLayout layout,
    const __grid_constant__ WeightsData<T, Out> data) {
  extern __shared__ __align__(128) char shared[];
  using Matmul = BlockMatmul<T, true, true>;
  const int expert = int(blockIdx.z);
  ExpertSteps<Matmul::depth> steps(layout, expert);
  const int count = steps.count();
  if (count == 0 && data.isAdded)
    return;
  const int row = int(blockIdx.y) * matmulSide;
  const int column = int(blockIdx.x) * matmulSide;
  Matmul product(shared);
  product.run(count, [&](int) {
    const Run run = steps.next();
    return MatmulStep<T>{
        {data.left + run.first * data.height + row, data.height, int(run.count),
         data.height - row, false},
        {data.right + run.first * data.width + column, data.width,
         int(run.count), data.width - column, false}};
  });
  const Target<Out> target{
      data.dw + (int64_t(expert) * data.height + row) * data.width + column,
      data.width,
      data.height - row,
      data.width - column,
      data.alpha,
      data.isAdded};
  product.forEachPair([&](int r, int c, float first, float second) {
    target.store(r, c, first, second);
  });
}

unsigned tiles(int64_t count) {
  return unsigned(ceilDivide(count, matmulSide));
}

template <class Kernel, class... Argument>
void start(Kernel kernel, dim3 grid, int sharedBytes, cudaStream_t stream,
           const Argument&... argument) {
  // If this fails, the launch reports the error.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       sharedBytes);
  kernel<<<grid, matmulThreads, size_t(sharedBytes), stream>>>(argument...);
}

/// Whether the GPU has warpgroup matmuls and the bulk copy engine supports the
/// rows.
bool isForWarpgroups(const CudaKernelArgs& args, int64_t from, int64_t to,
                     std::initializer_list<const Tensor*> operands) {
  return args.context.properties().major == 9 &&
         args.inputs[0].type == DType::bf16 && from % chunkSize == 0 &&
         to % chunkSize == 0 &&
         std::all_of(operands.begin(), operands.end(), [](const Tensor* of) {
           return areAligned(16, of->as<char>());
         });
}

template <class Work>
Status startOnAll(const CudaKernelArgs& args, const Work& work) {
  using Ring = StageRing<Work::acrossLeft, Work::acrossRight>;
  cudaFuncSetAttribute(groupedMatmul<Work>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                       Ring::sharedBytes);
  Scratch scratch(args.context);
  int* const next = scratch.take<int>(1);
  RECIPERUN_CUDA_TRY(cudaMemsetAsync, next, 0, sizeof(int),
                     args.context.stream());
  const int blocks = args.context.multiprocessors() / wideCluster * wideCluster;
  groupedMatmul<Work>
      <<<unsigned(blocks), wideThreads, size_t(Ring::sharedBytes),
         args.context.stream()>>>(work, next);
  return device::launchStatus();
}

template <bool across, bool beside>
Status multiplyPairs(const CudaKernelArgs& args, const ExpertLayout& layout,
                     int64_t from, int64_t to) {
  const Tensor &in = args.inputs[0], &w = args.inputs[1];
  auto left = device::mapMatrices(in.data, 1, layout.rows(), from, leftBox);
  RECIPERUN_TRY(left);
  auto right =
      across
          ? device::mapMatrices(w.data, layout.experts(), from, to, acrossBox)
          : device::mapMatrices(w.data, layout.experts(), to, from, rightBox);
  RECIPERUN_TRY(right);
  const ops::ExpertLinearAttributes attributes(args.op.attributes);
  return startOnAll(args, RowMatmuls<across, beside>{
                              *left, *right, layout, args.outputs[0].as<Bf16>(),
                              int(from), int(to), float(attributes.alpha),
                              attributes.accumulate});
}

/// The tiles of a pair are side by side if this wastes few columns.
template <bool across>
Status multiplyByWarpgroups(const CudaKernelArgs& args,
                            const ExpertLayout& layout, int64_t from,
                            int64_t to) {
  const int64_t columns = ceilDivide(to, wideColumns);
  const bool isBeside = columns % wideCluster == 0 || columns > 8;
  return isBeside ? multiplyPairs<across, true>(args, layout, from, to)
                  : multiplyPairs<across, false>(args, layout, from, to);
}

template <class T>
void multiplyByBlocks(const CudaKernelArgs& args, const ExpertLayout& layout,
                      int64_t from, int64_t to, bool isTransposed) {
  const ops::ExpertLinearAttributes attributes(args.op.attributes);
  const RowsData<T> data{args.inputs[0].as<T>(),
                         args.inputs[1].as<T>(),
                         args.outputs[0].as<T>(),
                         int(from),
                         int(to),
                         float(attributes.alpha),
                         attributes.accumulate};
  const dim3 grid(tiles(to), tiles(layout.height) + unsigned(layout.members),
                  unsigned(layout.groups * layout.blocks));
  const cudaStream_t stream = args.context.stream();
  if (isTransposed)
    start(multiplyRows<T, false>, grid,
          BlockMatmul<T, false, false>::sharedBytes, stream, layout, data);
  else
    start(multiplyRows<T, true>, grid, BlockMatmul<T, false, true>::sharedBytes,
          stream, layout, data);
}

/// out[e] = in[e] w[e], or in[e] w[e]^T if `isTransposed`: shared by the
/// forward and the gradient of x.
Status multiply(const CudaKernelArgs& args, bool isTransposed) {
  const Tensor &in = args.inputs[0], &w = args.inputs[1];
  const Tensor& out = args.outputs[0];
  const ExpertLayout layout(in, args.inputs[2]);
  if (out.elements() == 0)
    return Status::ok();
  const int64_t from = in.elements() / layout.rows();
  const int64_t to = out.elements() / layout.rows();
  if (isForWarpgroups(args, from, to, {&in, &w, &out}))
    return isTransposed ? multiplyByWarpgroups<false>(args, layout, from, to)
                        : multiplyByWarpgroups<true>(args, layout, from, to);
  return withDeviceType(args, in.type, [&]<class T>(DeviceType<T>) {
    multiplyByBlocks<T>(args, layout, from, to, isTransposed);
  });
}

template <class Out>
Status addByWarpgroups(const CudaKernelArgs& args, const ExpertLayout& layout,
                       const Tensor& left, int64_t height, const Tensor& right,
                       int64_t width) {
  auto ofLeft =
      device::mapMatrices(left.data, 1, layout.rows(), height, acrossBox);
  RECIPERUN_TRY(ofLeft);
  auto ofRight =
      device::mapMatrices(right.data, 1, layout.rows(), width, acrossBox);
  RECIPERUN_TRY(ofRight);
  const ops::ExpertLinearWgradAttributes attributes(args.op.attributes);
  return startOnAll(args,
                    WeightMatmuls<Out>{*ofLeft, *ofRight, layout,
                                       args.outputs[0].as<Out>(), int(height),
                                       int(width), float(attributes.alpha),
                                       attributes.accumulate});
}

template <class T, class Out>
void addByBlocks(const CudaKernelArgs& args, const ExpertLayout& layout,
                 const Tensor& left, int64_t height, const Tensor& right,
                 int64_t width) {
  const ops::ExpertLinearWgradAttributes attributes(args.op.attributes);
  const WeightsData<T, Out> data{
      left.as<T>(),         right.as<T>(), args.outputs[0].as<Out>(),
      int(height),          int(width),    float(attributes.alpha),
      attributes.accumulate};
  const dim3 grid(tiles(width), tiles(height), unsigned(layout.experts()));
  start(addWeightGradient<T, Out>, grid,
        BlockMatmul<T, true, true>::sharedBytes, args.context.stream(), layout,
        data);
}

} // namespace

Status expertLinearCudaKernel(const CudaKernelArgs& args) {
  return multiply(args,
                  !ops::ExpertLinearAttributes(args.op.attributes).stacked);
}

Status expertLinearDgradCudaKernel(const CudaKernelArgs& args) {
  return multiply(args,
                  ops::ExpertLinearAttributes(args.op.attributes).stacked);
}

Status expertLinearWgradCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1], &dw = args.outputs[0];
  const ExpertLayout layout(x, args.inputs[2]);
  if (x.elements() == 0 || dw.elements() == 0)
    return Status::ok();
  const int64_t from = x.elements() / layout.rows();
  const int64_t to = dy.elements() / layout.rows();
  // The rows of a weight are outputs; the rows of a stacked weight are inputs.
  const bool isStacked =
      ops::ExpertLinearWgradAttributes(args.op.attributes).stacked;
  const Tensor &left = isStacked ? x : dy, &right = isStacked ? dy : x;
  const int64_t height = isStacked ? from : to, width = isStacked ? to : from;
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    return withStoredType(dw.type, [&]<class Out>(DeviceType<Out>) {
      if (isForWarpgroups(args, from, to, {&x, &dy, &dw}))
        return addByWarpgroups<Out>(args, layout, left, height, right, width);
      addByBlocks<T, Out>(args, layout, left, height, right, width);
      return device::launchStatus();
    });
  });
}

} // namespace reciperun::kernels
