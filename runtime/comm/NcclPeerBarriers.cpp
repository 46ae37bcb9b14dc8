// Collectives in turn that kernels carry out by themselves, where the ranks of
// a group map each other's memory: a kernel of each reads or writes the memory
// of all, before and after which the ranks meet (CudaPeerBarrier.h).
//
// all-gather      each writes its part to where it belongs with all;
// reduce-scatter  each adds up its part of what all have, in their order;
// all-to-all      each writes its parts, or the rows of them that are used.
//
// Of the megabytes that layers exchange NCCL takes 1.3 to 1.8 times as long, by
// the bandwidths that were measured for it.

#include "runtime/comm/CudaShards.h"
#include "runtime/comm/NcclCommunicator.h"

#include <algorithm>
#include <cassert>

namespace reciperun::comm {

const NcclCommunicator::CommGroup*
NcclCommunicator::barrier(int group,
                          std::initializer_list<const Tensor*> tensors) const {
  const auto found = barriers.find(group);
  const auto isShared = [&](const Tensor* tensor) {
    return peers->holds(tensor->data, tensor->bytes());
  };
  return found != barriers.end() && std::ranges::all_of(tensors, isShared)
             ? &found->second
             : nullptr;
}

/// Where each rank of the group has what is `memory` here.
PeerAddresses NcclCommunicator::placesOf(const CommGroup& commGroup,
                                         std::byte* memory,
                                         int64_t bytes) const {
  PeerAddresses places;
  for (int place = 0; place < commGroup.ranks; ++place)
    places.of[place] =
        place == commGroup.rank
            ? memory
            : peers->placeOn(commGroup.members[size_t(place)], memory, bytes);
  return places;
}

/// Has `body` enqueue a kernel for a barrier of the group.
template <class Body>
Status NcclCommunicator::meet(const char* what, const CommGroup& commGroup,
                              const Body& body) {
  const Watch::Wait wait = waitFor(what, commGroup);
  return body(PeerBarrier{commGroup.place, announced(what, commGroup)});
}

Status NcclCommunicator::gatherByKernels(const CommGroup& commGroup,
                                         const Tensor& in, const Tensor& out) {
  assert(in.bytes() * commGroup.ranks == out.bytes() && in.type == out.type);
  std::byte* const own = out.as<std::byte>() + commGroup.rank * in.bytes();
  const bool isInPlace = overlap(in, out);
  if (isInPlace)
    RECIPERUN_TRY(copy(commGroup, in.data, own, in.bytes()));
  return meet("all-gather", commGroup, [&](const PeerBarrier& barrier) {
    return spreadWhole(isInPlace ? own : in.as<std::byte>(),
                       placesOf(commGroup, own, in.bytes()), commGroup.ranks,
                       in.bytes(), barrier, commGroup.stream);
  });
}

/// As NCCL's, a sum may take the place of this rank's own part.
Status NcclCommunicator::scatterByKernels(const CommGroup& commGroup,
                                          const Tensor& in, const Tensor& out) {
  assert(out.bytes() * commGroup.ranks == in.bytes() && in.type == out.type);
  std::byte* const own = in.as<std::byte>() + commGroup.rank * out.bytes();
  std::byte* const target = overlap(in, out) ? own : out.as<std::byte>();
  RECIPERUN_TRY(
      meet("reduce-scatter", commGroup, [&](const PeerBarrier& barrier) {
        return addPeersInOrder(in.type, placesOf(commGroup, own, out.bytes()),
                               commGroup.ranks, out.elements(), target, barrier,
                               commGroup.stream);
      }));
  return copy(commGroup, target, out.data, out.bytes());
}

bool NcclCommunicator::areRuns(const Tensor& in, ShardExchange exchange,
                               const CommGroup& commGroup) {
  return exchange.endsOf(in.shape, commGroup.ranks, plan::byteSize(in.type))
      .contiguous();
}

/// Of parts with counts, the rows that are used.
Status NcclCommunicator::exchangeByKernels(const CommGroup& commGroup,
                                           const Tensor& in,
                                           const Tensor& counts,
                                           const Tensor& out) {
  assert(in.bytes() == out.bytes() && in.type == out.type);
  const int64_t bytes = in.bytes() / commGroup.ranks;
  CountedRows rows;
  int blocks = 1;
  if (counts.present()) {
    rows = {counts.as<int32_t>(), int(counts.shape.back()),
            in.bytes() / (in.shape[0] * in.shape[1])};
    blocks = int(counts.elements() / rows.members / commGroup.ranks);
  }
  std::byte* const part = out.as<std::byte>() + commGroup.rank * bytes;
  return meet("all-to-all", commGroup, [&](const PeerBarrier& barrier) {
    return spreadBlocks(in.as<std::byte>(), placesOf(commGroup, part, bytes),
                        commGroup.ranks, blocks, bytes / blocks, rows, barrier,
                        commGroup.stream);
  });
}

} // namespace reciperun::comm
