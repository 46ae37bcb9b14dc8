// The rows of experts on a GPU, and their tiles for matmuls. Only the device
// knows the counts, so a warp computes where an expert's rows are.

#ifndef RECIPERUN_KERNELS_MOE_EXPERTLAYOUT_CUH
#define RECIPERUN_KERNELS_MOE_EXPERTLAYOUT_CUH

#include "runtime/device/Tensor.h"

#include <cstdint>

namespace reciperun::kernels {

/// Rows of experts, in the layout of ExpertPieces.h.
struct ExpertLayout {
  int groups, blocks, members;
  int64_t height; // rows of a block
  const int32_t* counts;

  /// `rows` is [groups, places, ...].
  ExpertLayout(const device::Tensor& rows, const device::Tensor& counts)
      : groups(int(counts.shape[0])), blocks(int(counts.shape[1])),
        members(int(counts.shape[2])), height(rows.shape[1] / counts.shape[1]),
        counts(counts.as<int32_t>()) {}

  __host__ __device__ int experts() const { return groups * members; }
  __host__ __device__ int64_t rows() const {
    return int64_t(groups) * blocks * height;
  }
};

/// Consecutive rows of an expert.
struct Run {
  int expert; // `members` of the layout: rows that belong to no token
  int64_t first, count;
};

__device__ inline int sumUpToLane(int value, int lane) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0u, value, unsigned(distance));
    value += lane >= distance ? other : 0;
  }
  return value;
}

/// Iterates over the tiles of `tileRows` rows of all blocks: first those of the
/// block's runs, then those of its remaining rows, which belong to no token. A
/// warp executes it, 32 runs at a time.
class TileWalk {
public:
  /// With `skipsRest`, there are no tiles for rows that belong to no token.
  __device__ TileWalk(const ExpertLayout& layout, int tileRows, bool skipsRest,
                      int firstBlock, int blockCount)
      : layout(layout), tileRows(tileRows), skipsRest(skipsRest),
        lane(int(threadIdx.x) % 32), block(firstBlock),
        endBlock(firstBlock + blockCount) {
    load();
  }

  struct Found {
    Run run;    // the expert is its index in the group
    int group;  // of the run
    int tiles;  // of the run
    int inside; // the index, minus the indices of earlier runs
  };

  /// Finds the run to which an index belongs, if each tile takes `width`
  /// indices. Returns false after the last index. Calls must pass ascending
  /// indices.
  __device__ bool find(int place, int width, Found& found) {
    for (;;) {
      if (const unsigned votes =
              __ballot_sync(~0u, place < tilesUpTo * width)) {
        const int owner = __ffs(int(votes)) - 1;
        const int tiles = tilesOf(count);
        found.run = {base + owner,
                     block * layout.height + __shfl_sync(~0u, first, owner),
                     __shfl_sync(~0u, count, owner)};
        found.group = block / layout.blocks;
        found.tiles = __shfl_sync(~0u, tiles, owner);
        found.inside =
            place - __shfl_sync(~0u, tilesUpTo - tiles, owner) * width;
        return true;
      }
      if (!advance())
        return false;
    }
  }

private:
  __device__ int tilesOf(int rows) const {
    return skipsRest && base + lane == layout.members
               ? 0
               : (rows + tileRows - 1) / tileRows;
  }

  /// Loads a run for each lane, starting at run `base` of the block.
  __device__ void load() {
    const int height = int(layout.height), member = base + lane;
    const int32_t* const own = layout.counts + int64_t(block) * layout.members;
    // Counts come from a buffer, so clamp them. The entry after the experts
    // takes all remaining rows.
    const int wanted = member < layout.members
                           ? min(max(own[member], 0), height)
                       : member == layout.members ? height
                                                  : 0;
    const int64_t end = int64_t(rowsBefore) + sumUpToLane(wanted, lane);
    first = int(min(end - wanted, int64_t(height)));
    count = min(wanted, height - first);
    tilesUpTo = tilesBefore + sumUpToLane(tilesOf(count), lane);
  }

  __device__ bool advance() {
    rowsBefore = __shfl_sync(~0u, first + count, 31);
    tilesBefore = __shfl_sync(~0u, tilesUpTo, 31);
    base += 32;
    if (base > layout.members) {
      base = rowsBefore = 0;
      if (block + 1 >= endBlock)
        return false;
      ++block;
    }
    load();
    return true;
  }

  const ExpertLayout& layout;
  const int tileRows;
  const bool skipsRest;
  const int lane;
  int block;
  const int endBlock;
  int base = 0, rowsBefore = 0, tilesBefore = 0;
  int first, count, tilesUpTo; // the lane's
};

/// The rows of an expert in a block of its group. All lanes of a warp must call
/// it.
__device__ inline Run runOf(const ExpertLayout& layout, int expert, int block) {
  const int group = expert / layout.members, member = expert % layout.members;
  const int number = group * layout.blocks + block;
  const int32_t* const own = layout.counts + int64_t(number) * layout.members;
  const int height = int(layout.height);
  int64_t before = 0;
  for (int base = 0; base < member; base += 32) {
    const int other = base + int(threadIdx.x) % 32;
    const int wanted = other < member ? min(max(own[other], 0), height) : 0;
    before += __shfl_sync(~0u, sumUpToLane(wanted, int(threadIdx.x) % 32), 31);
  }
  before = min(before, layout.height);
  return {expert, number * layout.height + before,
          min(int64_t(max(0, own[member])), layout.height - before)};
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_MOE_EXPERTLAYOUT_CUH
