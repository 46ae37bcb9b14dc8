// NCCL collectives in stream order with the device's kernels. Where ranks map
// each other's memory, kernels run some of them instead (NcclPeerBarriers.h).
//
// A tensor that is split along its first dimension larger than 1 is passed to
// NCCL directly. Other tensors:
//
// few rows    each row is a collective of its own, all in one launch;
// many rows   pass through the buffers in pieces. An all-gather goes from the
//             last piece to the first and a reduce-scatter from the first to
//             the last, so that an input that starts where the output does is
//             read before it is overwritten. An all-to-all packs and unpacks
//             each piece.

#ifndef RECIPERUN_COMM_NCCLCOLLECTIVES_H
#define RECIPERUN_COMM_NCCLCOLLECTIVES_H

#include "runtime/comm/Blocks.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/NcclConnections.h"
#include "runtime/comm/NcclPeerBarriers.h"
#include "runtime/comm/NcclProgress.h"

namespace reciperun::comm {

class NcclCollectives {
public:
  /// The arguments outlive the object.
  NcclCollectives(const NcclConnections& connections, NcclProgress& progress)
      : connections(connections), nccl(connections.nccl), progress(progress),
        barriers(connections, progress) {}
  ~NcclCollectives();

  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  /// Allocates the buffers for packing.
  Status takeBuffers();

  Status run(const Collective& collective);

private:
  Status allReduce(const Collective& collective);
  Status allGather(const Collective& collective);
  Status reduceScatter(const Collective& collective);
  Status allToAll(const Collective& collective);
  Status broadcast(const Collective& collective);
  Status reduce(const Collective& collective);
  Status transfer(const Collective& collective);
  static int64_t pieceElements(const NcclGroup& commGroup,
                               int64_t elementBytes);
  template <class Body>
  Status collect(const char* what, int group, const Body& body);
  Status gatherRows(const NcclGroup& commGroup, const Blocks& blocks,
                    const Tensor& in, const Tensor& out);
  Status gatherPieces(const NcclGroup& commGroup, const Blocks& blocks,
                      const Tensor& in, const Tensor& out);
  Status scatterContiguous(const NcclGroup& commGroup,
                           const Collective& collective);
  Status scatterRows(const NcclGroup& commGroup, const Blocks& blocks,
                     const Collective& collective);
  Status scatterPieces(const NcclGroup& commGroup, const Blocks& blocks,
                       const Collective& collective);
  static Blocks partsOf(const Tensor& part, int dim,
                        const NcclGroup& commGroup);

  const NcclConnections& connections;
  const NcclLibrary& nccl;
  NcclProgress& progress;
  NcclPeerBarriers barriers;
  std::byte* sendBuffer = nullptr;
  std::byte* receiveBuffer = nullptr;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLCOLLECTIVES_H
