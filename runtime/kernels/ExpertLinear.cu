// y[e] = x[e] w[e]^T for each expert e on a GPU, and its gradients.
//
// Counts lie on the device and nobody waits for them: a grid has blocks for as
// many tiles as there can be, and each finds its own.
//   rows: a group's block of `height` rows is cut into the rows of its experts
//     and the rest, each into tiles of 128; these are at most
//     ceil(height / 128) + members. What is left over does nothing, and the
//     tiles of the rest write zeros.
//   weights: a tile of dw[e] is one block's, which sums the expert's rows in
//   all
//     blocks of its group in f32, in their order, and adds them to dw once. The
//     plan's workspace, which the CPU sums in, is not needed.

#include "runtime/kernels/BlockProduct.cuh"
#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/CudaTypes.cuh"

#include <cassert>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::DType;
using plan::OpKind;
using namespace cuda;

/// Rows of experts, as ExpertPieces.h has them.
struct ExpertLayout {
  int groups, blocks, members;
  int64_t height; // rows of a block
  const int32_t* counts;

  __host__ __device__ int experts() const { return groups * members; }
  __host__ __device__ int64_t rows() const {
    return int64_t(groups) * blocks * height;
  }
};

ExpertLayout layoutOf(const Tensor& rows, const Tensor& counts) {
  return {int(counts.shape[0]), int(counts.shape[1]), int(counts.shape[2]),
          rows.shape[1] / counts.shape[1], counts.as<int32_t>()};
}

/// Some rows of an expert that follow one another.
struct Run {
  int expert; // `members` of the layout: rows that belong to no token
  int64_t first, count;
};

__device__ inline int sumUpTo(int value, int lane) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0u, value, unsigned(distance));
    value += lane >= distance ? other : 0;
  }
  return value;
}

/// The rows of a tile, the `tile`-th of a block of rows; of count 0 where there
/// are not as many. The expert is its number in the group. A warp calls it.
__device__ Run rowsOfTile(const ExpertLayout& layout, int block, int tile) {
  const int lane = int(threadIdx.x) % 32;
  const int32_t* const own = layout.counts + int64_t(block) * layout.members;
  const int height = int(layout.height);
  int rowsBefore = 0, tilesBefore = 0;
  auto cut = [&](int expert, int first, int count, int inside) {
    const int begin = first + inside * productSide;
    return Run{expert, int64_t(block) * height + begin,
               min(productSide, max(0, first + count - begin))};
  };
  for (int base = 0; base < layout.members; base += 32) {
    const int expert = base + lane;
    const int wanted =
        expert < layout.members ? min(max(own[expert], 0), height) : 0;
    // Bounded, as counts are read from a buffer: at most 32 heights are added.
    const int64_t end = int64_t(rowsBefore) + sumUpTo(wanted, lane);
    const int first = int(min(end - wanted, int64_t(height)));
    const int count = min(wanted, height - first);
    const int tiles = (count + productSide - 1) / productSide;
    const int tilesUpTo = tilesBefore + sumUpTo(tiles, lane);
    const unsigned votes = __ballot_sync(~0u, tile < tilesUpTo);
    if (votes) {
      const int owner = __ffs(int(votes)) - 1;
      return cut(base + owner, __shfl_sync(~0u, first, owner),
                 __shfl_sync(~0u, count, owner),
                 tile - __shfl_sync(~0u, tilesUpTo - tiles, owner));
    }
    rowsBefore = int(min(__shfl_sync(~0u, end, 31), int64_t(height)));
    tilesBefore = __shfl_sync(~0u, tilesUpTo, 31);
  }
  return cut(layout.members, rowsBefore, height - rowsBefore,
             tile - tilesBefore);
}

/// The rows of an expert in a block of its group.
__device__ Run runOf(const ExpertLayout& layout, int expert, int block) {
  const int group = expert / layout.members, member = expert % layout.members;
  const int number = group * layout.blocks + block;
  const int32_t* const own = layout.counts + int64_t(number) * layout.members;
  int64_t before = 0;
  for (int e = 0; e < member; ++e)
    before = min(layout.height, before + max(0, own[e]));
  const int64_t count =
      min(int64_t(max(0, own[member])), layout.height - before);
  return {expert, number * layout.height + before, count};
}

/// What a product does to the elements it makes.
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
  bool isAligned; // rows of all operands, to 16 bytes
};

/// out = in w^T, expert by expert, or with `across` in w.
template <class T, bool across>
__global__ __launch_bounds__(productThreads) void multiplyRows(
    const __grid_constant__ ExpertLayout layout,
    const __grid_constant__ RowsData<T> data) {
  extern __shared__ __align__(128) char shared[];
  using Product = BlockProduct<T, false, across>;
  const Run run = rowsOfTile(layout, int(blockIdx.z), int(blockIdx.y));
  const bool isUnused = run.expert == layout.members;
  if (run.count == 0 || (isUnused && data.isAdded))
    return;
  const int column = int(blockIdx.x) * productSide;
  Product product(shared);
  const int group = int(blockIdx.z) / layout.blocks;
  const T* const w = data.w + (int64_t(group) * layout.members + run.expert) *
                                  data.from * data.to;
  product.run(isUnused ? 0 : (data.from + Product::depth - 1) / Product::depth,
              [&](int step) {
                const int begin = step * Product::depth;
                const RowSource<T> a{data.in + run.first * data.from + begin,
                                     data.from, int(run.count),
                                     data.from - begin, data.isAligned};
                const RowSource<T> b =
                    across
                        ? RowSource<T>{w + int64_t(begin) * data.to + column,
                                       data.to, data.from - begin,
                                       data.to - column, data.isAligned}
                        : RowSource<T>{w + int64_t(column) * data.from + begin,
                                       data.from, data.to - column,
                                       data.from - begin, data.isAligned};
                return ProductStep<T>{a, b};
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
  bool isAligned;
};

/// Walks over an expert's rows in steps of `depth`, block after block.
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
__global__ __launch_bounds__(productThreads) void addWeightGradient(
    const __grid_constant__ ExpertLayout layout,
    const __grid_constant__ WeightsData<T, Out> data) {
  extern __shared__ __align__(128) char shared[];
  using Product = BlockProduct<T, true, true>;
  const int expert = int(blockIdx.z);
  ExpertSteps<Product::depth> steps(layout, expert);
  const int count = steps.count();
  if (count == 0)
    return;
  const int row = int(blockIdx.y) * productSide;
  const int column = int(blockIdx.x) * productSide;
  Product product(shared);
  product.run(count, [&](int) {
    const Run run = steps.next();
    return ProductStep<T>{
        {data.left + run.first * data.height + row, data.height, int(run.count),
         data.height - row, data.isAligned},
        {data.right + run.first * data.width + column, data.width,
         int(run.count), data.width - column, data.isAligned}};
  });
  const Target<Out> target{
      data.dw + (int64_t(expert) * data.height + row) * data.width + column,
      data.width,
      data.height - row,
      data.width - column,
      data.alpha,
      true};
  product.forEachPair([&](int r, int c, float first, float second) {
    target.store(r, c, first, second);
  });
}

unsigned tiles(int64_t count) {
  return unsigned(ceilDivide(count, productSide));
}

template <class Kernel, class... Argument>
void start(Kernel kernel, dim3 grid, int sharedBytes, cudaStream_t stream,
           const Argument&... argument) {
  // A refusal shows in the launch's own error.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       sharedBytes);
  kernel<<<grid, productThreads, size_t(sharedBytes), stream>>>(argument...);
}

/// out[e] = in[e] w[e], or with `isTransposed` in[e] w[e]^T: what forward and
/// the gradient of x have in common.
Status multiplyExperts(const CudaKernelArgs& args, bool isTransposed) {
  const Tensor &in = args.inputs[0], &w = args.inputs[1];
  const Tensor& out = args.outputs[0];
  const ExpertLayout layout = layoutOf(in, args.inputs[2]);
  if (out.elements() == 0)
    return Status::ok();
  return withDeviceType(args, in.type, [&]<class T>(DeviceType<T>) {
    RowsData<T> data{in.as<T>(),
                     w.as<T>(),
                     out.as<T>(),
                     int(in.elements() / layout.rows()),
                     int(out.elements() / layout.rows()),
                     float(args.op.real("alpha", 1)),
                     args.op.flag("accumulate"),
                     false};
    data.isAligned = data.from % chunkSize == 0 && data.to % chunkSize == 0 &&
                     areAligned(16, data.in, data.w, data.out);
    const dim3 grid(tiles(data.to),
                    tiles(layout.height) + unsigned(layout.members),
                    unsigned(layout.groups * layout.blocks));
    const cudaStream_t stream = args.context.stream();
    if (isTransposed)
      start(multiplyRows<T, false>, grid,
            BlockProduct<T, false, false>::sharedBytes, stream, layout, data);
    else
      start(multiplyRows<T, true>, grid,
            BlockProduct<T, false, true>::sharedBytes, stream, layout, data);
  });
}

} // namespace

template <>
Status cudaKernel<OpKind::ExpertLinear>(const CudaKernelArgs& args) {
  return multiplyExperts(args, !args.op.flag("stacked"));
}

template <>
Status cudaKernel<OpKind::ExpertLinearDgrad>(const CudaKernelArgs& args) {
  return multiplyExperts(args, args.op.flag("stacked"));
}

template <>
Status cudaKernel<OpKind::ExpertLinearWgrad>(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1], &dw = args.outputs[0];
  const ExpertLayout layout = layoutOf(x, args.inputs[2]);
  if (x.elements() == 0 || dw.elements() == 0)
    return Status::ok();
  const int from = int(x.elements() / layout.rows());
  const int to = int(dy.elements() / layout.rows());
  const bool isStacked = args.op.flag("stacked");
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    withStoredType(dw.type, [&]<class Out>(DeviceType<Out>) {
      WeightsData<T, Out> data{(isStacked ? x : dy).as<T>(),
                               (isStacked ? dy : x).as<T>(),
                               dw.as<Out>(),
                               isStacked ? from : to,
                               isStacked ? to : from,
                               float(args.op.real("alpha", 1)),
                               false};
      data.isAligned = from % chunkSize == 0 && to % chunkSize == 0 &&
                       areAligned(16, data.left, data.right);
      const dim3 grid(tiles(data.width), tiles(data.height),
                      unsigned(layout.experts()));
      start(addWeightGradient<T, Out>, grid,
            BlockProduct<T, true, true>::sharedBytes, args.context.stream(),
            layout, data);
    });
  });
}

} // namespace reciperun::kernels
