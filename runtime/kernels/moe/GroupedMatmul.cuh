// Grouped matmuls of experts in bf16 with the warpgroups of Hopper.
//
// One block per multiprocessor processes tiles of 128 by 256. The two blocks of
// a cluster process two adjacent tiles. If the tiles are side by side, each
// block copies half of the left operand's rows to both. If one is below the
// other, they share the right operand's rows in the same way: no columns of a
// narrow matrix are wasted, but an expert's rows are cut into taller pairs.
//   1. A warp draws the numbers of the cluster's tiles from a counter, so that
//      clusters that wait for the end of another kernel process fewer tiles.
//   2. A warp copies both operands' boxes, 64 summed elements per step, into
//      the next free stage of a ring.
//   3. Two warpgroups multiply 64 rows each, and free the previous stage.
//   4. They store their accumulators while the copies of the next tile start.
// The counts determine the tiles; each warp reads them itself. Timing decides
// which block computes a tile, but not the order of the sums in it.

#ifndef RECIPERUN_KERNELS_MOE_GROUPEDMATMUL_CUH
#define RECIPERUN_KERNELS_MOE_GROUPEDMATMUL_CUH

#include "runtime/device/cuda/TensorMaps.h"
#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/common/WarpgroupMatmuls.cuh"
#include "runtime/kernels/moe/ExpertLayout.cuh"

#include <type_traits>

namespace reciperun::kernels::cuda {

/// Rows and columns of a block's tile, and summed elements per step.
inline constexpr int wideRows = 128, wideColumns = 256, wideDepth = 64;
inline constexpr int wideThreads = 3 * 128, wideCluster = 2;
inline constexpr int consumerWarps = 8;
/// Rows and columns of a cluster's pair of tiles, which are side by side if
/// `beside`, else one below the other.
inline constexpr int pairRows(bool beside) {
  return (beside ? 1 : wideCluster) * wideRows;
}
inline constexpr int pairColumns(bool beside) {
  return (beside ? wideCluster : 1) * wideColumns;
}
/// Rows of the boxes in which tiles are copied: for an operand whose rows are
/// the summed dimension; otherwise for a left and for a right operand.
inline constexpr int acrossBox = wideDepth, leftBox = 64, rightBox = 128;

/// A cluster's pair of tiles.
struct PairOfTiles {
  int place, column; // first row of the left, first column of the right
  int64_t rows;      // of the result from `place` on; may exceed the pair
  int expert;
  bool isUnused; // the rows belong to no token
};

/// Position `number` in the order of `tiles` rows and `columns` columns of
/// tiles: bands of 8 rows, column by column in each, so that concurrent tiles
/// share operands.
struct TilePlace {
  int row, column;

  __device__ TilePlace(int number, int tiles, int columns) {
    constexpr int band = 8;
    const int begin = number / (band * columns) * band;
    const int rows = min(band, tiles - begin);
    const int inside = number - begin * columns;
    row = begin + inside % rows;
    column = inside / rows;
  }
};

/// out = in w^T, or in w if `across`, expert by expert. See pairRows() for
/// `beside`.
template <bool across, bool beside_> struct RowMatmuls {
  using Out = Bf16;
  static constexpr bool beside = beside_;
  static constexpr bool acrossLeft = false, acrossRight = across;

  CUtensorMap left, right; // in [rows, from], w
  ExpertLayout layout;
  Bf16* out;
  int from, to;
  float alpha;
  bool isAdded;

  class Tiles {
  public:
    __device__ explicit Tiles(const RowMatmuls& work)
        : work(work), walk(work.layout, pairRows(beside), work.isAdded, 0,
                           work.layout.groups * work.layout.blocks) {}

    __device__ bool find(int number, PairOfTiles& tile) {
      constexpr int width = pairColumns(beside);
      const int columns = (work.to + width - 1) / width;
      TileWalk::Found found;
      if (!walk.find(number, columns, found))
        return false;
      const TilePlace place(found.inside, found.tiles, columns);
      const int begin = place.row * pairRows(beside);
      tile.place = int(found.run.first) + begin;
      tile.column = place.column * width;
      tile.rows = found.run.count - begin;
      tile.expert = found.group * work.layout.members + found.run.expert;
      tile.isUnused = found.run.expert == work.layout.members;
      return true;
    }

  private:
    const RowMatmuls& work;
    TileWalk walk;
  };

  /// Calls body(start of the step in the summed dimension, number of valid
  /// elements).
  template <class Body>
  __device__ __forceinline__ void forSteps(const PairOfTiles& tile,
                                           Body body) const {
    for (int at = 0; at < (tile.isUnused ? 0 : from); at += wideDepth)
      body(at, wideDepth); // both operands are zero beyond their columns
  }
  __device__ int matrixOf(const PairOfTiles& tile) const { return tile.expert; }
  __device__ bool addsNothing(int) const { return false; }

  __device__ int width() const { return to; }
  __device__ Bf16* rowsOf(const PairOfTiles& tile) const {
    return out + int64_t(tile.place) * to;
  }
};

/// dw [experts, height, columns] += left^T right, or = if not `isAdded`.
template <class Out_> struct WeightMatmuls {
  using Out = Out_;
  static constexpr bool beside = false;
  static constexpr bool acrossLeft = true, acrossRight = true;

  CUtensorMap left, right; // [rows, height], [rows, columns]
  ExpertLayout layout;
  Out* dw;
  int height, columns;
  float alpha;
  bool isAdded;

  class Tiles {
  public:
    __device__ explicit Tiles(const WeightMatmuls& work) : work(work) {}

    __device__ bool find(int number, PairOfTiles& tile) const {
      const int rows = (work.height + pairRows(beside) - 1) / pairRows(beside);
      const int columns = (work.columns + wideColumns - 1) / wideColumns;
      tile.expert = number / (rows * columns);
      if (tile.expert >= work.layout.experts())
        return false;
      const TilePlace place(number % (rows * columns), rows, columns);
      tile.place = place.row * pairRows(beside);
      tile.column = place.column * wideColumns;
      tile.rows = work.height - tile.place;
      tile.isUnused = false;
      return true;
    }

  private:
    const WeightMatmuls& work;
  };

  template <class Body>
  __device__ __forceinline__ void forSteps(const PairOfTiles& tile,
                                           Body body) const {
    for (int block = 0; block < layout.blocks; ++block) {
      const Run run = runOf(layout, tile.expert, block);
      for (int64_t done = 0; done < run.count; done += wideDepth)
        body(int(run.first + done),
             int(min(run.count - done, int64_t(wideDepth))));
    }
  }
  __device__ int matrixOf(const PairOfTiles&) const { return 0; }
  __device__ bool addsNothing(int steps) const { return isAdded && steps == 0; }

  __device__ int width() const { return columns; }
  __device__ Out* rowsOf(const PairOfTiles& tile) const {
    return dw + (int64_t(tile.expert) * height + tile.place) * columns;
  }
};

/// The stages in shared memory and the barriers that guard them.
template <bool acrossLeft, bool acrossRight> class StageRing {
public:
  static constexpr int stages = 4;
  /// Bytes of a row of 64 summed elements. If an operand's rows are the summed
  /// dimension, a box row has 64 outer elements, which take the same size.
  static constexpr int rowBytes = wideDepth * 2, boxPlaces = 64;
  static constexpr int leftBytes = wideRows * wideDepth * 2;
  static constexpr int rightBytes = wideColumns * wideDepth * 2;
  static constexpr int stageBytes = leftBytes + rightBytes;
  static constexpr int sharedBytes =
      stages * (stageBytes + 2 * int(sizeof(ClusterBarrier)));

  __device__ explicit StageRing(char* shared)
      : data(shared),
        full(reinterpret_cast<ClusterBarrier*>(shared + stages * stageBytes)),
        empty(full + stages) {}

  /// Called by one thread before the cluster barrier.
  __device__ void open() {
    for (int i = 0; i < stages; ++i) {
      full[i].open(1);
      empty[i].open(consumerWarps * wideCluster);
    }
  }

  __device__ char* left() const { return data + stage() * stageBytes; }
  __device__ char* right() const { return left() + leftBytes; }

  /// Waits until the stage is free in both blocks.
  __device__ void waitForRoom() const {
    if (step >= stages)
      empty[stage()].wait(step / stages - 1);
  }
  /// One thread starts the copies of a stage.
  template <class Work>
  __device__ void copy(const Work& work, const PairOfTiles& tile, int rank,
                       int at) const {
    full[stage()].expect(stageBytes);
    if constexpr (Work::beside) {
      constexpr int share = wideRows / wideCluster;
      copyLeft<share>(work, tile.place + rank * share, at, rank * share, all);
      copyRight<wideColumns>(work, tile, tile.column + rank * wideColumns, at,
                             0, 0);
    } else {
      constexpr int share = wideColumns / wideCluster;
      copyLeft<wideRows>(work, tile.place + rank * wideRows, at, 0, 0);
      copyRight<share>(work, tile, tile.column + rank * share, at, rank * share,
                       all);
    }
  }

  __device__ void waitForData() const { full[stage()].wait(step / stages); }
  /// Frees the previous stage in both blocks. Each warp calls it.
  __device__ void freeBefore(int lane) const {
    if (lane < wideCluster)
      empty[(step + stages - 1) % stages].arriveAt(uint32_t(lane));
  }

  /// Moves to the next stage.
  __device__ void advance() { ++step; }

private:
  static constexpr uint16_t all = (1 << wideCluster) - 1; // blocks

  __device__ uint32_t stage() const { return step % stages; }

  /// Copies outer elements of an operand, starting at `place`, to a tile,
  /// starting at row `inside`. The destination is the block itself, or the
  /// given `blocks` of the cluster.
  template <int places, class Work>
  __device__ void copyLeft(const Work& work, int place, int at, int inside,
                           uint16_t blocks) const {
    for (int i = 0; i < places; i += leftBox) {
      char* const to = left() + (inside + i) * rowBytes;
      if constexpr (acrossLeft)
        start(work.left, place + i, at, 0, to, blocks);
      else
        start(work.left, at, place + i, 0, to, blocks);
    }
  }
  template <int places, class Work>
  __device__ void copyRight(const Work& work, const PairOfTiles& tile,
                            int place, int at, int inside,
                            uint16_t blocks) const {
    constexpr int box = acrossRight ? boxPlaces : rightBox;
    const int matrix = work.matrixOf(tile);
    for (int i = 0; i < places; i += box) {
      char* const to = right() + (inside + i) * rowBytes;
      if constexpr (acrossRight)
        start(work.right, place + i, at, matrix, to, blocks);
      else
        start(work.right, at, place + i, matrix, to, blocks);
    }
  }
  __device__ void start(const CUtensorMap& map, int column, int row, int matrix,
                        char* to, uint16_t blocks) const {
    if (blocks)
      copyBoxToAll(map, column, row, matrix, to, full[stage()], blocks);
    else
      copyBox(map, column, row, matrix, to, full[stage()]);
  }

  char* const data;
  ClusterBarrier *const full, *const empty;
  uint32_t step = 0;
};

/// The numbers of a cluster's next tiles. One warp of the first block draws
/// them for both blocks.
class TileFeed {
public:
  static constexpr int slots = 2, takingWarps = consumerWarps + 1;
  struct Shared {
    ClusterBarrier ready[slots], taken[slots];
    int32_t numbers[slots];
  };

  __device__ explicit TileFeed(Shared* shared) : shared(shared) {}

  /// Called by one thread before the cluster barrier.
  __device__ void open() {
    for (int i = 0; i < slots; ++i) {
      shared->ready[i].open(1);
      shared->taken[i].open(takingWarps * wideCluster);
    }
  }

  /// Sends a number to both blocks.
  __device__ void give(int32_t number) {
    const uint32_t slot = turn % slots, lane = threadIdx.x % 32;
    if (turn >= slots)
      shared->taken[slot].waitForWrites(turn / slots - 1);
    if (lane < wideCluster) {
      storeAt(lane, shared->numbers[slot], number);
      shared->ready[slot].arriveWithWrites(lane);
    }
    ++turn;
  }
  /// Returns the next number to a warp.
  __device__ int32_t take() {
    const uint32_t slot = turn++ % slots;
    shared->ready[slot].waitForWrites((turn - 1) / slots);
    const int32_t number = shared->numbers[slot];
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      shared->taken[slot].arriveWithWrites(0);
    return number;
  }

private:
  Shared* const shared;
  uint32_t turn = 0;
};

/// Transposes a 4 x 4 matrix among four neighbouring lanes: element i of lane l
/// becomes element l of lane i.
__device__ __forceinline__ void exchange(uint32_t (&of)[4]) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit)
        continue;
      const bool isUpper = threadIdx.x & unsigned(bit);
      uint32_t &low = of[i], &high = of[i + bit];
      const uint32_t got =
          __shfl_xor_sync(~0u, isUpper ? low : high, unsigned(bit));
      (isUpper ? low : high) = got;
    }
}

/// Loads that can overlap. The compiler keeps their order and does not move
/// them after later stores. They return zeros if not `isRead`.
__device__ __forceinline__ float2 loadPair(const float* from, bool isRead) {
  float2 pair = {};
  asm volatile("{\n"
               ".reg .pred read;\n"
               "setp.ne.b32 read, %3, 0;\n"
               "@read ld.global.v2.f32 {%0, %1}, [%2];\n"
               "}"
               : "+f"(pair.x), "+f"(pair.y)
               : "l"(from), "r"(int(isRead)));
  return pair;
}
__device__ __forceinline__ uint4 loadChunk(const Bf16* from, bool isRead) {
  uint4 chunk = {};
  asm volatile("{\n"
               ".reg .pred read;\n"
               "setp.ne.b32 read, %5, 0;\n"
               "@read ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               "}"
               : "+r"(chunk.x), "+r"(chunk.y), "+r"(chunk.z), "+r"(chunk.w)
               : "l"(from), "r"(int(isRead)));
  return chunk;
}

/// The destination of a warpgroup's accumulators. `rows` and `columns` are the
/// numbers that exist from `data` on.
template <class Out> struct SumsTarget {
  Out* data;
  int64_t stride;
  int rows, columns;
  float alpha;
  bool isAdded;

  __device__ __forceinline__ void store(const WideSums& sums) const {
    storeHalf<0>(sums);
    storeHalf<1>(sums);
  }

private:
  /// Stores the upper or lower 8 of each 16 rows. The accumulators are
  /// registers, so `half` must be a constant.
  template <int half>
  __device__ __forceinline__ void storeHalf(const WideSums& sums) const {
    const int lane = int(threadIdx.x) % 32;
    const int row = int(threadIdx.x) / 32 % 4 * 16 + half * 8 + lane / 4;
    if constexpr (std::is_same_v<Out, Bf16>)
      storeNarrow<half>(sums, row, lane % 4 * 8);
    else
      storeWide<half>(sums, row, lane % 4 * 2);
  }

  /// A lane stores 8 neighbours of each 32 columns, from `column` on.
  template <int half>
  __device__ __forceinline__ void storeNarrow(const WideSums& sums, int row,
                                              int column) const {
    constexpr int parts = wideColumns / 32;
    Bf16* const to = data + row * stride + column;
    const int inside = row < rows ? columns - column : 0;
    uint4 old[parts] = {};
    if (isAdded)
#pragma unroll
      for (int p = 0; p < parts; ++p)
        old[p] = loadChunk(to + p * 32, p * 32 < inside);
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      uint32_t pairs[4] = {old[p].x, old[p].y, old[p].z, old[p].w};
      if (isAdded)
        exchange(pairs);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 sum = {alpha * sums.of[(p * 4 + i) * 4 + half * 2],
                      alpha * sums.of[(p * 4 + i) * 4 + half * 2 + 1]};
        if (isAdded) {
          const float2 before = __bfloat1622float2(
              *reinterpret_cast<const __nv_bfloat162*>(&pairs[i]));
          sum.x += before.x;
          sum.y += before.y;
        }
        pairs[i] = pack(sum.x, sum.y);
      }
      exchange(pairs);
      if (p * 32 < inside)
        *reinterpret_cast<uint4*>(to + p * 32) = {pairs[0], pairs[1], pairs[2],
                                                  pairs[3]};
    }
  }

  /// A lane stores 2 neighbours of each 8 columns.
  template <int half>
  __device__ __forceinline__ void storeWide(const WideSums& sums, int row,
                                            int column) const {
    constexpr int parts = wideColumns / 8, atOnce = 16;
    float* const to = data + row * stride + column;
    const int inside = row < rows ? columns - column : 0;
#pragma unroll
    for (int first = 0; first < parts; first += atOnce) {
      float2 old[atOnce];
#pragma unroll
      for (int p = 0; p < atOnce; ++p)
        old[p] =
            loadPair(to + (first + p) * 8, isAdded && (first + p) * 8 < inside);
#pragma unroll
      for (int p = 0; p < atOnce; ++p) {
        const float* const sum = sums.of + (first + p) * 4 + half * 2;
        if ((first + p) * 8 < inside)
          *reinterpret_cast<float2*>(to + (first + p) * 8) = {
              old[p].x + alpha * sum[0], old[p].y + alpha * sum[1]};
      }
    }
  }
};

/// Zeros the summed rows of a stage after the first `count`, which belong to
/// another expert. Both warpgroups call it.
__device__ inline void clearBehind(char* stage, int count) {
  constexpr int consumers = 256, chunks = 8;
  constexpr int boxes = (wideRows + wideColumns) / 64;
  const int ofBox = (wideDepth - count) * chunks;
  for (int i = int(threadIdx.x) % consumers; i < boxes * ofBox;
       i += consumers) {
    char* const box = stage + i / ofBox * OperandTile<true>::boxBytes;
    reinterpret_cast<uint4*>(box)[count * chunks + i % ofBox] = uint4();
  }
  ptx::fence_proxy_async(ptx::space_shared);
  asm volatile("bar.sync 1, %0;" ::"n"(consumers) : "memory");
}

/// Draws tiles until none are left. The last number tells the other warps to
/// stop.
template <class Work>
__device__ void drawTiles(const Work& work, TileFeed feed, int* next) {
  typename Work::Tiles tiles(work);
  PairOfTiles tile;
  int number;
  do {
    number = threadIdx.x % 32 == 0 ? atomicAdd(next, 1) : 0;
    number = __shfl_sync(~0u, number, 0);
    feed.give(number);
  } while (tiles.find(number, tile));
}

template <class Work, class Ring>
__device__ __forceinline__ void copyTiles(const Work& work, TileFeed feed,
                                          Ring ring, int rank) {
  const int lane = int(threadIdx.x) % 32;
  typename Work::Tiles tiles(work);
  PairOfTiles tile;
  while (tiles.find(feed.take(), tile))
    work.forSteps(tile, [&](int at, int) {
      ring.waitForRoom();
      if (lane == 0)
        ring.copy(work, tile, rank, at);
      __syncwarp();
      ring.advance();
    });
}

template <class Work, class Ring>
__device__ __forceinline__ void multiplyTiles(const Work& work, TileFeed feed,
                                              Ring ring, int rank) {
  const int lane = int(threadIdx.x) % 32;
  const int group = int(threadIdx.x) / 128 - 1;
  // A warpgroup processes 64 rows of the left tile.
  const int leftAt = group * OperandTile<true>::boxBytes;
  typename Work::Tiles tiles(work);
  PairOfTiles tile;
  while (tiles.find(feed.take(), tile)) {
    WideSums sums;
    sums.clear();
    int steps = 0;
    work.forSteps(tile, [&](int, int count) {
      ring.waitForData();
      if (Work::acrossLeft && count < wideDepth)
        clearBehind(ring.left(), count);
      const OperandTile<Work::acrossLeft> left(ring.left() + leftAt);
      const OperandTile<Work::acrossRight> right(ring.right());
      WideSums::begin();
#pragma unroll
      for (int i = 0; i < wideDepth / 16; ++i)
        sums.template add<Work::acrossLeft, Work::acrossRight>(left.at(i),
                                                               right.at(i));
      WideSums::commit();
      WideSums::wait<1>();
      if (steps++ > 0)
        ring.freeBefore(lane);
      ring.advance();
    });
    WideSums::wait<0>();
    sums.pin();
    if (steps > 0)
      ring.freeBefore(lane);
    if (work.addsNothing(steps))
      continue;
    const int begin = (Work::beside ? 0 : rank * wideRows) + group * 64;
    const int column = tile.column + (Work::beside ? rank * wideColumns : 0);
    SumsTarget<typename Work::Out>{
        work.rowsOf(tile) + int64_t(begin) * work.width() + column,
        work.width(),
        int(min(max(tile.rows - begin, int64_t(0)), int64_t(wideRows))),
        work.width() - column,
        work.alpha,
        work.isAdded}
        .store(sums);
  }
}

/// `next` is a counter that starts at 0.
template <class Work>
__global__ void __cluster_dims__(wideCluster) __launch_bounds__(wideThreads, 1)
    groupedMatmul(const __grid_constant__ Work work, int* next) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // others have no such instructions
  extern __shared__ __align__(1024) char sharedStages[];
  using Ring = StageRing<Work::acrossLeft, Work::acrossRight>;
  Ring ring(sharedStages);
  __shared__ TileFeed::Shared sharedFeed;
  TileFeed feed(&sharedFeed);
  if (threadIdx.x == 0) {
    ring.open();
    feed.open();
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  const int rank = int(ptx::get_sreg_cluster_ctarank());
  if (threadIdx.x / 128 == 0) {
    giveRegisters<56>();
    if (threadIdx.x / 32 == 0)
      copyTiles(work, feed, ring, rank);
    else if (threadIdx.x / 32 == 1 && rank == 0)
      drawTiles(work, feed, next);
  } else {
    takeRegisters<224>();
    multiplyTiles(work, feed, ring, rank);
  }
  // The other block of the cluster writes to this block's shared memory until
  // both are done.
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
#endif
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_MOE_GROUPEDMATMUL_CUH
