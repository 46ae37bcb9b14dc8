// Collectives that kernels run without NCCL when the ranks of a group map each
// other's memory. One kernel per rank reads or writes the memory of all ranks,
// between two barriers (CudaPeerBarrier.h).
//
// all-gather      each rank writes its part to every rank's output;
// reduce-scatter  each rank sums its part of all inputs, in rank order;
// all-to-all      each rank writes its parts. For rows of experts it writes
//                 those in use, whose number only the device knows.
//
// For the message sizes of layers, some megabytes, NCCL takes 1.3 to 1.8 times
// as long, estimated from its measured bandwidths.

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

  /// The group of that index if kernels can run a collective of these tensors,
  /// otherwise null.
  const NcclGroup* find(int group,
                        std::initializer_list<const Tensor*> tensors) const;

  Status gather(const NcclGroup& commGroup, const Tensor& in,
                const Tensor& out);
  Status scatter(const NcclGroup& commGroup, const Tensor& in,
                 const Tensor& out);

  /// Whether the parts are contiguous in both tensors, as exchange() requires.
  static bool areRuns(const Tensor& in, ShardExchange exchange,
                      const NcclGroup& commGroup);
  /// All-to-all. With counts it moves only the rows in use.
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
