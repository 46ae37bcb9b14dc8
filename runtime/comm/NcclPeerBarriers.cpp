// See NcclPeerBarriers.h.

#include "runtime/comm/NcclPeerBarriers.h"

#include "runtime/comm/CudaPeerBarrier.h"
#include "runtime/comm/CudaShards.h"

#include <algorithm>
#include <cassert>

namespace reciperun::comm {

const NcclGroup*
NcclPeerBarriers::find(int group,
                       std::initializer_list<const Tensor*> tensors) const {
  const auto found = connections.barriers.find(group);
  const auto isShared = [&](const Tensor* tensor) {
    return connections.peers->holds(tensor->data, tensor->bytes());
  };
  return found != connections.barriers.end() &&
                 std::ranges::all_of(tensors, isShared)
             ? &found->second
             : nullptr;
}

/// The addresses on all ranks of the group that correspond to `memory` on this
/// rank.
PeerAddresses NcclPeerBarriers::placesOf(const NcclGroup& commGroup,
                                         std::byte* memory,
                                         int64_t bytes) const {
  PeerAddresses places;
  for (int place = 0; place < commGroup.ranks; ++place)
    places.of[place] =
        place == commGroup.rank
            ? memory
            : connections.peers->placeOn(commGroup.members[size_t(place)],
                                         memory, bytes);
  return places;
}

/// Calls `body` to enqueue a kernel with a barrier of the group.
template <class Body>
Status NcclPeerBarriers::meet(const char* what, const NcclGroup& commGroup,
                              const Body& body) {
  const Watch::Wait wait = progress.waitFor(what, commGroup);
  return body(PeerBarrier{commGroup.place, progress.announce(what, commGroup)});
}

Status NcclPeerBarriers::gather(const NcclGroup& commGroup, const Tensor& in,
                                const Tensor& out) {
  assert(in.bytes() * commGroup.ranks == out.bytes() && in.type == out.type);
  std::byte* const own = out.as<std::byte>() + commGroup.rank * in.bytes();
  const bool isInPlace = overlap(in, out);
  if (isInPlace)
    RECIPERUN_TRY(copyOwn(commGroup, in.data, own, in.bytes()));
  return meet("all-gather", commGroup, [&](const PeerBarrier& barrier) {
    return spreadWhole(isInPlace ? own : in.as<std::byte>(),
                       placesOf(commGroup, own, in.bytes()), commGroup.ranks,
                       in.bytes(), barrier, commGroup.stream);
  });
}

/// Like with NCCL, the result may overwrite this rank's own part.
Status NcclPeerBarriers::scatter(const NcclGroup& commGroup, const Tensor& in,
                                 const Tensor& out) {
  assert(out.bytes() * commGroup.ranks == in.bytes() && in.type == out.type);
  std::byte* const own = in.as<std::byte>() + commGroup.rank * out.bytes();
  std::byte* const target = overlap(in, out) ? own : out.as<std::byte>();
  RECIPERUN_TRY(
      meet("reduce-scatter", commGroup, [&](const PeerBarrier& barrier) {
        return addPeersInOrder(in.type, placesOf(commGroup, own, out.bytes()),
                               commGroup.ranks, out.elements(), target, barrier,
                               commGroup.stream);
      }));
  return copyOwn(commGroup, target, out.data, out.bytes());
}

bool NcclPeerBarriers::areRuns(const Tensor& in, ShardExchange exchange,
                               const NcclGroup& commGroup) {
  return exchange.endsOf(in.shape, commGroup.ranks, plan::byteSize(in.type))
      .contiguous();
}

Status NcclPeerBarriers::exchange(const NcclGroup& commGroup, const Tensor& in,
                                  const Tensor& counts, const Tensor& out) {
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
