// Ranks that NCCL or kernels connect, and what all parts of NcclCommunicator do
// with their tensors.

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

/// Some ranks, this one among them, and where their collectives are enqueued.
struct NcclGroup {
  ncclComm_t comm = nullptr; // none where the rank is alone
  int rank = 0;
  int ranks = 1;
  cudaStream_t stream = nullptr;
  std::string name; // ``group `tp` of ranks 0 and 2``
  /// Where data goes by copies: their number for it, and who takes part.
  int copies = -1;
  std::vector<int> members = {};
  PeerBarrierState* place = nullptr; // where kernels meet
};

/// By number in the plan's mesh.
using NcclGroups = std::map<int, NcclGroup>;

/// Fails where the plan's ops do not name the group.
Expected<const NcclGroup*> findGroup(const NcclGroups& groups, int number);

ncclDataType_t ncclType(plan::DType type);

bool overlap(const device::Tensor& a, const device::Tensor& b);

/// What a collective of one rank is.
Status copyOwn(const NcclGroup& commGroup, const void* from, void* to,
               int64_t bytes);

/// Sends so many bytes to each rank of the group and receives as many.
Status exchangeParts(const NcclLibrary& nccl, const NcclGroup& commGroup,
                     const std::byte* in, std::byte* out, int64_t bytes);

/// Calls a function of NCCL for a group and returns its failure.
#define RECIPERUN_NCCL_TRY(nccl, commGroup, name, ...)                         \
  RECIPERUN_TRY(                                                               \
      nccl.check(nccl.name(__VA_ARGS__), "nccl" #name, (commGroup).comm))

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLGROUP_H
