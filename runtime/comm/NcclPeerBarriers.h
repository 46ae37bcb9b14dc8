// Collectives in turn that kernels carry out by themselves, where the ranks of
// a group map each other's memory: a kernel of each reads or writes the memory
// of all, before and after which the ranks meet (CudaPeerBarrier.h).
//
// all-gather      each writes its part to where it belongs with all;
// reduce-scatter  each adds up its part of what all have, in their order;
// all-to-all      each writes its parts, or the rows of them that are used: of
//                 experts' rows the device alone knows how many there are.
//
// Of the megabytes that layers exchange NCCL takes 1.3 to 1.8 times as long, by
// the bandwidths that were measured for it.

#ifndef RECIPERUN_COMM_NCCLPEERBARRIERS_H
#define RECIPERUN_COMM_NCCLPEERBARRIERS_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/NcclConnections.h"
#include "runtime/comm/NcclProgress.h"

#include <initializer_list>

namespace reciperun::comm {

struct PeerAddresses;

class NcclPeerBarriers {
public:
  /// The arguments outlive the object.
  NcclPeerBarriers(const NcclConnections& connections, NcclProgress& progress)
      : connections(connections), progress(progress) {}

  /// The group of that number if kernels may carry out what it does with the
  /// tensors; else null.
  const NcclGroup* find(int group,
                        std::initializer_list<const Tensor*> tensors) const;

  Status gather(const NcclGroup& commGroup, const Tensor& in,
                const Tensor& out);
  Status scatter(const NcclGroup& commGroup, const Tensor& in,
                 const Tensor& out);

  /// Whether the parts are runs of memory, which exchange() wants.
  static bool areRuns(const Tensor& in, ShardExchange exchange,
                      const NcclGroup& commGroup);
  /// Of parts with counts, the rows that are used.
  Status exchange(const NcclGroup& commGroup, const Tensor& in,
                  const Tensor& counts, const Tensor& out);

private:
  PeerAddresses placesOf(const NcclGroup& commGroup, std::byte* memory,
                         int64_t bytes) const;
  template <class Body>
  Status meet(const char* what, const NcclGroup& commGroup, const Body& body);

  const NcclConnections& connections;
  NcclProgress& progress;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLPEERBARRIERS_H
