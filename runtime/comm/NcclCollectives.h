// Collectives by NCCL in turn with the device's kernels; where ranks map each
// other's memory, kernels carry some of them out (NcclPeerBarriers.h).
//
// Tensors that are split along the first dimension that exceeds 1 go as they
// are. Of others,
//
// few rows    each row is a collective of its own, all in one launch;
// many rows   pass through the buffers in pieces: an all-gather's from the last
//             to the first, a reduce-scatter's from the first to the last, so
//             that a tensor that starts where the other does is read before it
//             is overwritten; an all-to-all's are packed and unpacked.

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

  /// Takes the buffers that tensors pass through.
  Status takeBuffers();

  Status run(const Collective& collective);

private:
  Status allReduce(const Collective& collective);
  Status allGather(const Collective& collective);
  Status reduceScatter(const Collective& collective);
  Status allToAll(const Collective& collective);
  static int64_t pieceElements(const NcclGroup& commGroup,
                               int64_t elementBytes);
  template <class Body>
  Status collect(const char* what, int group, const Body& body);
  Status gatherRows(const NcclGroup& commGroup, const Blocks& blocks,
                    const Tensor& in, const Tensor& out);
  Status gatherPieces(const NcclGroup& commGroup, const Blocks& blocks,
                      const Tensor& in, const Tensor& out);
  Status scatterContiguous(const NcclGroup& commGroup, const Tensor& in,
                           const Tensor& out);
  Status scatterRows(const NcclGroup& commGroup, const Blocks& blocks,
                     const Tensor& in, const Tensor& out);
  Status scatterPieces(const NcclGroup& commGroup, const Blocks& blocks,
                       const Tensor& in, const Tensor& out);
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
