// Kernels of GPU collectives besides NCCL's. They pack and unpack the parts of
// a tensor that is split along a dimension (Blocks.h), add terms in rank order,
// from local memory or from the memory of other ranks, and write blocks to the
// memory of other ranks. All functions enqueue on a stream.

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
/// The whole's elements [begin, end) of part 0, then those of part 1, and so on
/// = packed.
Status unpackShards(const Blocks& blocks, const std::byte* packed,
                    int64_t begin, int64_t end, std::byte* whole,
                    cudaStream_t stream);

/// Addresses in the memory of a group's ranks that this rank can read and
/// write.
struct PeerAddresses {
  std::byte* of[PeerBarrierState::mostRanks] = {};
};

/// `count` tensors of equal size. They are contiguous from `first` on, except
/// that tensor number `place` is at `own`.
struct Terms {
  const std::byte* first = nullptr;
  int count = 0;
  int place = -1;
  const std::byte* own = nullptr; // tensor number `place`
};

/// out[i] = term 0 [i] + term 1 [i] + ..., in this order. bf16 is accumulated
/// in f32 and rounded once, like in reduceInRankOrder. `out` may alias a term.
Status addTermsInOrder(plan::DType type, const Terms& terms, int64_t elements,
                       std::byte* out, cudaStream_t stream);
/// The same sum of `count` terms in the memory of other ranks, at `places`. The
/// kernel enters `barrier` before it reads the terms, and leaves it afterwards.
Status addPeersInOrder(plan::DType type, const PeerAddresses& places, int count,
                       int64_t elements, std::byte* out,
                       const PeerBarrier& barrier, cudaStream_t stream);

/// The rows of experts to write. A block begins with its rows in use. Their
/// number is the sum of the block's `members` counts. Without counts all bytes
/// of a block are written.
struct CountedRows {
  const int32_t* counts = nullptr;
  int members = 0;
  int64_t rowBytes = 0;
};

/// Splits `in` into `ranks` parts of `blocks` blocks of `bytes` bytes each and
/// writes part r to places.of[r], inside `barrier`.
Status spreadBlocks(const std::byte* in, const PeerAddresses& places, int ranks,
                    int blocks, int64_t bytes, const CountedRows& rows,
                    const PeerBarrier& barrier, cudaStream_t stream);
/// Writes the `bytes` bytes of `in` to each of the `ranks` addresses in
/// `places`, inside `barrier`.
Status spreadWhole(const std::byte* in, const PeerAddresses& places, int ranks,
                   int64_t bytes, const PeerBarrier& barrier,
                   cudaStream_t stream);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_CUDASHARDS_H
