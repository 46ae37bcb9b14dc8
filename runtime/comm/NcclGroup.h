// A group of ranks as seen by NCCL and kernels, and the operations that all
// parts of NcclCommunicator share.

#ifndef RECIPERUN_COMM_NCCLGROUP_H
#define RECIPERUN_COMM_NCCLGROUP_H

#include "runtime/base/Status.h"
#include "runtime/comm/NcclLibrary.h"
#include "runtime/device/Tensor.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reciperun::comm {

struct PeerBarrierState;

/// A group that includes this rank, and the stream of its collectives.
struct NcclGroup {
  ncclComm_t comm = nullptr; // null for a single rank
  int rank = 0;
  int ranks = 1;
  cudaStream_t stream = nullptr;
  std::string name; // ``group `tp` of ranks 0 and 2``
  /// For groups that use copies: their index in PeerCopies and the members.
  int copies = -1;
  std::vector<int> members = {};
  PeerBarrierState* place = nullptr; // for groups whose kernels use barriers
};

/// The groups by their index in the plan's mesh.
using NcclGroups = std::map<int, NcclGroup>;

/// Fails when no op of the plan names the group.
Expected<const NcclGroup*> findGroup(const NcclGroups& groups, int number);

ncclDataType_t ncclType(plan::DType type);

bool overlap(const device::Tensor& a, const device::Tensor& b);

/// The collective of a single rank: a copy.
Status copyOwn(const NcclGroup& commGroup, const void* from, void* to,
               int64_t bytes);

/// Sends `bytes` bytes to each rank of the group and receives as many from
/// each.
Status exchangeParts(const NcclLibrary& nccl, const NcclGroup& commGroup,
                     const std::byte* in, std::byte* out, int64_t bytes);

/// Calls a function of NCCL for a group and returns its failure.
#define RECIPERUN_NCCL_TRY(nccl, commGroup, name, ...)                         \
  RECIPERUN_TRY(                                                               \
      nccl.check(nccl.name(__VA_ARGS__), "nccl" #name, (commGroup).comm))

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLGROUP_H
