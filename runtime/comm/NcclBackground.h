// What NCCL or the copy engines do beside the device's kernels: halves of
// collectives and messages between stages. What begins runs on another stream,
// behind the kernels that were enqueued by then; finish has later kernels wait
// for it.

#ifndef RECIPERUN_COMM_NCCLBACKGROUND_H
#define RECIPERUN_COMM_NCCLBACKGROUND_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/NcclConnections.h"
#include "runtime/comm/NcclProgress.h"
#include "runtime/device/cuda/CudaContext.h"

#include <vector>

namespace reciperun::comm {

class NcclBackground {
public:
  /// The arguments outlive the object. `rank` is this one's in the world.
  NcclBackground(int rank, const NcclConnections& connections,
                 NcclProgress& progress, device::CudaContext& context)
      : rank(rank), connections(connections), nccl(connections.nccl),
        progress(progress), context(context) {}
  ~NcclBackground();

  NcclBackground(const NcclBackground&) = delete;
  NcclBackground& operator=(const NcclBackground&) = delete;

  Status open();

  /// As those of Communicator.
  Expected<int> begin(const Collective& collective);
  Expected<int> begin(const Message& message);
  Status finish(int message);
  Status addTerms(int group, const Tensor& in, const Tensor& terms,
                  const Tensor& out);

private:
  /// Something that has begun: when the device is done with it.
  struct Underway {
    cudaEvent_t done = nullptr;
    bool isFree = true;
  };

  Expected<int> beginAllGather(const Collective& collective);
  Expected<int> beginExchange(const Collective& collective);
  Expected<int> beginShift(const Collective& collective);
  /// Each other rank gets `bytes` of `in` as this rank's part of its `out`: the
  /// same, or those that are as many strides on as its place is.
  Status copyParts(const char* what, const NcclGroup& commGroup,
                   const Tensor& in, int64_t stride, const Tensor& out,
                   int64_t bytes);

  /// Has a stream wait for the kernels that were enqueued so far.
  Status follow(cudaStream_t stream);
  /// The number of what has been enqueued beside kernels.
  Expected<int> keep(const char* what, const NcclGroup& commGroup);

  int rank;
  const NcclConnections& connections;
  const NcclLibrary& nccl;
  NcclProgress& progress;
  device::CudaContext& context;
  std::vector<Underway> underway;
  cudaEvent_t enqueued = nullptr;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLBACKGROUND_H
