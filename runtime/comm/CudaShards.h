// What collectives of GPUs do with tensors besides sending them: the parts of a
// tensor that is split along a dimension are packed and unpacked (Blocks.h),
// terms are added up in the order of the ranks, here or where other ranks have
// them, and blocks are written to the memory of other ranks. All are enqueued
// on a stream.

#ifndef RECIPERUN_COMM_CUDASHARDS_H
#define RECIPERUN_COMM_CUDASHARDS_H

#include "runtime/base/Status.h"
#include "runtime/comm/Blocks.h"
#include "runtime/comm/CudaPeerBarrier.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace reciperun::comm {

/// packed = elements [begin, end) of part 0 of the whole, then those of part 1,
/// and so on.
Status packShards(const Blocks& blocks, const std::byte* whole, int64_t begin,
                  int64_t end, std::byte* packed, cudaStream_t stream);
/// The other way: those elements of the whole = packed.
Status unpackShards(const Blocks& blocks, const std::byte* packed,
                    int64_t begin, int64_t end, std::byte* whole,
                    cudaStream_t stream);

/// Memory of the ranks of a group that this one can read and write.
struct PeerAddresses {
  std::byte* of[PeerBarrierState::mostRanks] = {};
};

/// Tensors of one size: `count` of them one behind the other, but that number
/// `place` is elsewhere.
struct Terms {
  const std::byte* first = nullptr;
  int count = 0;
  int place = -1;
  const std::byte* own = nullptr; // that number
};

/// out[i] = term 0 [i] + term 1 [i] + ..., in this order; bf16 in f32 with one
/// rounding, as reduceInRankOrder does. `out` may be one of them.
Status addTermsInOrder(plan::DType type, const Terms& terms, int64_t elements,
                       std::byte* out, cudaStream_t stream);
/// The same of terms that lie in so many places, in a barrier of their ranks.
Status addPeersInOrder(plan::DType type, const PeerAddresses& places, int count,
                       int64_t elements, std::byte* out,
                       const PeerBarrier& barrier, cudaStream_t stream);

/// Of rows of experts, how many are moved: a block's first ones, as many as its
/// members' counts add up to; all bytes of a block where there are no counts.
struct CountedRows {
  const int32_t* counts = nullptr;
  int members = 0;
  int64_t rowBytes = 0;
};

/// Cuts `in` into `ranks` parts of `blocks` blocks each and writes those of
/// part r, of `bytes` bytes a block, to where place r says, in a barrier.
Status spreadBlocks(const std::byte* in, const PeerAddresses& places, int ranks,
                    int blocks, int64_t bytes, const CountedRows& rows,
                    const PeerBarrier& barrier, cudaStream_t stream);
/// Writes `in`, of `bytes` bytes, to each of `ranks` places, in a barrier.
Status spreadWhole(const std::byte* in, const PeerAddresses& places, int ranks,
                   int64_t bytes, const PeerBarrier& barrier,
                   cudaStream_t stream);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_CUDASHARDS_H
