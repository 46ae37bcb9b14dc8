// Table lookups by token, and the accumulation of gradients into the table, on
// a GPU; see Embedding.cpp for tables that are a rank's shard.
//
// Backward:
//   1. Places (token indices) are sorted by the rows of their tokens; places of
//      one row keep their order. Places whose rows other ranks hold come last.
//   2. The sorted places are cut into pieces. The blocks of a piece sum one row
//      after another. A row whose places all lie in the piece is added to the
//      table; the partial sum of another row is stored.
//   3. The piece in which such a row starts adds the row's partial sums in
//      order.
// A row is summed in f32 and rounded once.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/dense/EmbeddingRows.h"

#include <bit>
#include <string>

#include <cub/device/device_radix_sort.cuh>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

/// Reads the table row of a token.
struct RowsOfTokens {
  EmbeddingRows rows;
  const std::byte* table;
  int64_t bytes; // of a row

  __device__ const std::byte* operator()(int64_t place) const {
    const int64_t row = rows.rowOf(place);
    return row < 0 ? nullptr : table + row * bytes;
  }
  int64_t alignment() const {
    return int64_t(reinterpret_cast<uintptr_t>(table)) | bytes;
  }
};

constexpr int numberThreads = 256, addThreads = 128, unroll = 4;
constexpr int usualLength = 32; // places of a piece

/// Prepares step 1: the row of each place (`rows.rows` if another rank holds
/// it), and the places in order.
__global__ void __launch_bounds__(numberThreads)
    numberPlaces(EmbeddingRows rows, uint32_t* keys, int32_t* places) {
  const int64_t place = int64_t(blockIdx.x) * numberThreads + threadIdx.x;
  if (place >= rows.count)
    return;
  const int64_t row = rows.rowOf(place);
  keys[place] = uint32_t(row < 0 ? rows.rows : row);
  places[place] = int32_t(place);
}

/// The sorted places and their pieces.
struct Pieces {
  const uint32_t* keys; // the rows of the table
  const int32_t* places;
  int count, length; // of all places; of a piece
  unsigned chunks;   // blocks along a row
  float* parts;      // [pieces, 2, width]: sums of the first and the last row

  __device__ int begin(int piece) const { return piece * length; }
  __device__ int end(int piece) const {
    return min(count, begin(piece) + length);
  }
  /// Whether places `at` - 1 and `at` belong to the same row.
  __device__ bool isJoined(int at) const {
    return at > 0 && at < count && keys[at - 1] == keys[at];
  }
  __device__ float* part(int piece, bool isLast, int64_t width) const {
    return parts + (2 * int64_t(piece) + isLast) * width;
  }
};

/// Step 2. Blocks are numbered by piece and by chunk of a row's vectors.
template <class T, class G, int n>
__global__ void __launch_bounds__(addThreads)
    addRows(EmbeddingRows rows, Pieces pieces, const T* dy, G* table) {
  const int piece = int(blockIdx.x / pieces.chunks);
  const int begin = pieces.begin(piece), end = pieces.end(piece);
  const int64_t at =
      (int64_t(blockIdx.x % pieces.chunks) * addThreads + threadIdx.x) * n;
  if (at >= rows.width)
    return;
  const bool isJoinedBefore = pieces.isJoined(begin);
  const bool isJoinedBehind = pieces.isJoined(end);
  const uint32_t first = pieces.keys[begin];
  float sum[n] = {};
  for (int i = begin; i < end; i += unroll) {
    Vector<T, n> slopes[unroll];
    Vector<G, n> before[unroll];
    bool isWhole[unroll];
    // Issue all loads before the first use.
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int place = i + u;
      if (place >= end || pieces.keys[place] >= rows.rows)
        continue;
      const int64_t row = pieces.keys[place];
      slopes[u] =
          Vector<T, n>::load(dy + pieces.places[place] * rows.width + at);
      isWhole[u] = !(isJoinedBefore && row == first) &&
                   !(isJoinedBehind && place + 1 == end);
      if (isWhole[u] && !pieces.isJoined(place + 1))
        before[u] = Vector<G, n>::load(table + row * rows.width + at);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int place = i + u;
      if (place >= end || pieces.keys[place] >= rows.rows)
        return;
#pragma unroll
      for (int e = 0; e < n; ++e)
        sum[e] += slopes[u][e];
      if (place + 1 < end && pieces.isJoined(place + 1))
        continue;
      const int64_t row = pieces.keys[place];
      if (isWhole[u]) {
#pragma unroll
        for (int e = 0; e < n; ++e)
          sum[e] += before[u][e];
        rounded<G, n>(sum).store(table + row * rows.width + at);
      } else {
        const bool isLast = !(isJoinedBefore && row == first);
        rounded<float, n>(sum).store(pieces.part(piece, isLast, rows.width) +
                                     at);
      }
#pragma unroll
      for (int e = 0; e < n; ++e)
        sum[e] = 0;
    }
  }
}

/// Step 3, for the row that starts in a piece and continues after it.
template <class G, int n>
__global__ void __launch_bounds__(addThreads)
    joinRows(EmbeddingRows rows, Pieces pieces, G* table) {
  const int piece = int(blockIdx.x / pieces.chunks);
  const int begin = pieces.begin(piece), end = pieces.end(piece);
  const uint32_t row = pieces.keys[end - 1];
  const bool beginsBefore = pieces.isJoined(begin) && pieces.keys[begin] == row;
  const int64_t at =
      (int64_t(blockIdx.x % pieces.chunks) * addThreads + threadIdx.x) * n;
  if (!pieces.isJoined(end) || beginsBefore || row >= rows.rows ||
      at >= rows.width)
    return;
  auto part = [&](int of, bool isLast) {
    return Vector<float, n>::load(pieces.part(of, isLast, rows.width) + at);
  };
  Vector<float, n> sum = part(piece, true);
  bool goesOn = true;
  for (int next = piece + 1; goesOn; next += unroll) {
    Vector<float, n> more[unroll];
    bool isOfRow[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int from = pieces.begin(next + u);
      isOfRow[u] = from < pieces.count && pieces.keys[from] == row;
      if (isOfRow[u])
        more[u] = part(next + u, false);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      goesOn = isOfRow[u];
#pragma unroll
      for (int e = 0; e < n && goesOn; ++e)
        sum.elements[e] += more[u][e];
    }
  }
  G* to = table + row * rows.width + at;
  const auto before = Vector<G, n>::load(to);
#pragma unroll
  for (int e = 0; e < n; ++e)
    sum.elements[e] += before[e];
  rounded<G, n>(sum.elements).store(to);
}

/// Step 1, and the cut into pieces of step 2.
Status sortPlaces(const CudaKernelArgs& args, const EmbeddingRows& rows,
                  Pieces& pieces) {
  const cudaStream_t stream = args.context.stream();
  const int bits = std::bit_width(uint64_t(rows.rows));
  const int64_t count = rows.count;
  Scratch scratch(args.context);
  auto* const keys = scratch.take<uint32_t>(count);
  auto* const sortedKeys = scratch.take<uint32_t>(count);
  auto* const places = scratch.take<int32_t>(count);
  auto* const sortedPlaces = scratch.take<int32_t>(count);
  size_t bytes = 0;
  auto sort = [&](void* room) {
    return cub::DeviceRadixSort::SortPairs(room, bytes, keys, sortedKeys,
                                           places, sortedPlaces, int(count), 0,
                                           bits, stream);
  };
  RECIPERUN_TRY(device::cudaStatus(sort(nullptr), "DeviceRadixSort"));
  void* const room = scratch.take<std::byte>(int64_t(bytes));
  const int64_t pairOfParts = 2 * rows.width * int64_t(sizeof(float));
  const int64_t most = scratch.leftBytes() / pairOfParts;
  if (scratch.leftBytes() < pairOfParts)
    return Status::error("a micro-batch has " + std::to_string(count) +
                         " tokens, which are more than the scratch of a GPU "
                         "sorts; make micro-batches smaller");
  pieces.keys = sortedKeys;
  pieces.places = sortedPlaces;
  pieces.count = int(count);
  pieces.length = int(std::max<int64_t>(usualLength, ceilDivide(count, most)));
  pieces.parts = scratch.take<float>(0);
  numberPlaces<<<unsigned(ceilDivide(count, numberThreads)), numberThreads, 0,
                 stream>>>(rows, keys, places);
  return device::cudaStatus(sort(room), "DeviceRadixSort");
}

template <class T, class G, int n>
void launchAdd(const CudaKernelArgs& args, const EmbeddingRows& rows,
               Pieces pieces) {
  pieces.chunks = unsigned(ceilDivide(rows.width, n * addThreads));
  const unsigned blocks =
      unsigned(ceilDivide(pieces.count, pieces.length)) * pieces.chunks;
  const cudaStream_t stream = args.context.stream();
  G* const table = args.outputs[0].as<G>();
  addRows<T, G, n><<<blocks, addThreads, 0, stream>>>(
      rows, pieces, args.inputs[1].as<T>(), table);
  joinRows<G, n><<<blocks, addThreads, 0, stream>>>(rows, pieces, table);
}

template <class T, class G>
void addRows(const CudaKernelArgs& args, const EmbeddingRows& rows,
             const Pieces& pieces) {
  constexpr int n = std::min(vectorLength<T>, 4);
  if (rows.width % n == 0 &&
      areAligned(16, args.inputs[1].data, args.outputs[0].data))
    launchAdd<T, G, n>(args, rows, pieces);
  else
    launchAdd<T, G, 1>(args, rows, pieces);
}

} // namespace

Status embeddingCudaKernel(const CudaKernelArgs& args) {
  const Tensor &table = args.inputs[1], &y = args.outputs[0];
  const EmbeddingRows rows = EmbeddingRows::of(args, args.inputs[0], y, table);
  const int64_t bytes = y.bytes() / rows.count;
  return copyRows(args, {y.as<std::byte>(), rows.count, bytes, bytes, 0, bytes},
                  RowsOfTokens{rows, table.as<std::byte>(), bytes});
}

Status embeddingBackwardCudaKernel(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[1], &dtable = args.outputs[0];
  const EmbeddingRows rows =
      EmbeddingRows::of(args, args.inputs[0], dy, dtable);
  if (rows.count == 0)
    return Status::ok();
  Pieces pieces = {};
  RECIPERUN_TRY(sortPlaces(args, rows, pieces));
  return withDeviceType(args, dy.type, [&]<class T>(DeviceType<T>) {
    withStoredType(dtable.type, [&]<class G>(DeviceType<G>) {
      addRows<T, G>(args, rows, pieces);
    });
  });
}

} // namespace reciperun::kernels
