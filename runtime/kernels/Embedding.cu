// Rows of a table by token, and the sum of gradients back into the table, on a
// GPU; see Embedding.cpp for tables that are a rank's shard.
//
// Backward:
//   1. Places are sorted by token and, of one token, by place: the rank of a
//      place is how many come before it, which a warp counts. That is quadratic
//      in the tokens of a micro-batch, and still little beside their matrix
//      products.
//   2. The blocks of a token's first place add the gradients of all its places,
//      in their order, and store the row once.

#include "runtime/kernels/BlockSums.cuh"
#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/RowCopies.cuh"

#include <string>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::OpKind;

/// A table's rows on this rank, and tokens in that numbering.
struct Rows {
  const int32_t* tokens;
  int64_t count; // of tokens
  int64_t width; // of a row
  int64_t rows;  // on this rank
  int64_t first; // the token of row 0

  /// The row of a token, -1 where another rank holds it.
  __device__ int64_t rowOf(int32_t token) const {
    const int64_t row = token - first;
    return row >= 0 && row < rows ? row : -1;
  }
};

Rows rowsOf(const CudaKernelArgs& args, const Tensor& tokens,
            const Tensor& values, const Tensor& table) {
  Rows rows;
  rows.tokens = tokens.as<int32_t>();
  rows.count = tokens.elements();
  rows.width = values.elements() / rows.count;
  rows.rows = table.elements() / rows.width;
  rows.first = rows.rows * args.coordinate(args.op.string("axis"));
  return rows;
}

/// A token's row of the table.
struct RowsOfTokens {
  Rows rows;
  const std::byte* table;
  int64_t bytes; // of a row

  __device__ const std::byte* operator()(int64_t place) const {
    const int64_t row = rows.rowOf(rows.tokens[place]);
    return row < 0 ? nullptr : table + row * bytes;
  }
  int64_t alignment() const {
    return int64_t(reinterpret_cast<uintptr_t>(table)) | bytes;
  }
};

constexpr int lanes = 32, warps = 8;

/// Places by token; beside the first place of each token, how many it has, and
/// beside the others 0.
struct Sorted {
  int32_t* places;
  int32_t* counts;
};

__global__ void __launch_bounds__(lanes* warps)
    sortPlaces(const int32_t* tokens, int count, Sorted sorted) {
  const int place = int(blockIdx.x) * warps + int(threadIdx.y);
  if (place >= count)
    return;
  const int32_t token = tokens[place];
  int less = 0, before = 0, behind = 0; // of other tokens; of this one
#pragma unroll 8
  for (int i = int(threadIdx.x); i < count; i += lanes) {
    const int32_t other = tokens[i];
    less += other < token;
    before += other == token && i < place;
    behind += other == token && i > place;
  }
  less = acrossLanes(less, lanes, Plus());
  before = acrossLanes(before, lanes, Plus());
  behind = acrossLanes(behind, lanes, Plus());
  if (threadIdx.x == 0) {
    sorted.places[less + before] = place;
    sorted.counts[less + before] = before == 0 ? behind + 1 : 0;
  }
}

constexpr int addThreads = 128;

/// Blocks are numbered by sorted places, and by chunks of a row's vectors.
template <class T, class G, int n>
__global__ void __launch_bounds__(addThreads)
    addRows(Rows rows, Sorted sorted, unsigned chunks, const T* dy, G* table) {
  const int32_t* places = sorted.places + blockIdx.x / chunks;
  const int count = sorted.counts[blockIdx.x / chunks];
  const int64_t at =
      (int64_t(blockIdx.x % chunks) * addThreads + threadIdx.x) * n;
  if (count == 0 || at >= rows.width)
    return;
  const int64_t row = rows.rowOf(rows.tokens[places[0]]);
  if (row < 0)
    return;
  const auto before = Vector<G, n>::load(table + row * rows.width + at);
  float sum[n];
#pragma unroll
  for (int e = 0; e < n; ++e)
    sum[e] = before[e];
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    const auto part = Vector<T, n>::load(dy + places[i] * rows.width + at);
#pragma unroll
    for (int e = 0; e < n; ++e)
      sum[e] += part[e];
  }
  rounded<G, n>(sum).store(table + row * rows.width + at);
}

template <class T, class G, int n>
void launchAdd(const CudaKernelArgs& args, const Rows& rows,
               const Sorted& sorted) {
  const auto chunks = unsigned(ceilDivide(rows.width, n * addThreads));
  addRows<T, G, n>
      <<<unsigned(rows.count) * chunks, addThreads, 0, args.context.stream()>>>(
          rows, sorted, chunks, args.inputs[1].as<T>(),
          args.outputs[0].as<G>());
}

template <class T, class G>
void addRows(const CudaKernelArgs& args, const Rows& rows,
             const Sorted& sorted) {
  constexpr int n = std::min(vectorLength<T>, vectorLength<G>);
  if (rows.width % n == 0 &&
      areAligned(16, args.inputs[1].data, args.outputs[0].data))
    launchAdd<T, G, n>(args, rows, sorted);
  else
    launchAdd<T, G, 1>(args, rows, sorted);
}

} // namespace

template <> Status cudaKernel<OpKind::Embedding>(const CudaKernelArgs& args) {
  const Tensor &table = args.inputs[1], &y = args.outputs[0];
  const Rows rows = rowsOf(args, args.inputs[0], y, table);
  const int64_t bytes = y.bytes() / rows.count;
  return copyRows(args, {y.as<std::byte>(), rows.count, bytes, bytes, 0, bytes},
                  RowsOfTokens{rows, table.as<std::byte>(), bytes});
}

template <>
Status cudaKernel<OpKind::EmbeddingBackward>(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[1], &dtable = args.outputs[0];
  const Rows rows = rowsOf(args, args.inputs[0], dy, dtable);
  constexpr int64_t most = device::CudaContext::scratchCapacity<int32_t>() / 2;
  if (rows.count > most)
    return Status::error("a micro-batch has " + std::to_string(rows.count) +
                         " tokens, and on GPUs it has at most " +
                         std::to_string(most));
  auto* scratch = args.context.scratch<int32_t>();
  const Sorted sorted{scratch, scratch + rows.count};
  sortPlaces<<<unsigned(ceilDivide(rows.count, warps)), dim3(lanes, warps), 0,
               args.context.stream()>>>(rows.tokens, int(rows.count), sorted);
  return withDeviceType(args, dy.type, [&]<class T>(DeviceType<T>) {
    withStoredType(dtable.type, [&]<class G>(DeviceType<G>) {
      addRows<T, G>(args, rows, sorted);
    });
  });
}

} // namespace reciperun::kernels
