// Transfers by NCCL or by copy engines that overlap with the device's kernels:
// asynchronous collectives, and messages between stages. begin enqueues a
// transfer on another stream, after the kernels enqueued so far. finish makes
// later kernels wait for the transfer.

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
  /// The arguments outlive the object. `rank` is this rank's in the world.
  NcclBackground(int rank, const NcclConnections& connections,
                 NcclProgress& progress, device::CudaContext& context)
      : rank(rank), connections(connections), nccl(connections.nccl),
        progress(progress), context(context) {}
  ~NcclBackground();

  NcclBackground(const NcclBackground&) = delete;
  NcclBackground& operator=(const NcclBackground&) = delete;

  Status open();

  /// These implement the functions of Communicator.
  Expected<int> begin(const Collective& collective);
  Expected<int> begin(const Message& message);
  Status finish(int message);
  Status addTerms(int group, const Tensor& in, const Tensor& terms,
                  const Tensor& out);

private:
  /// An operation that has begun. `done` is recorded after it.
  struct Underway {
    cudaEvent_t done = nullptr;
    bool isFree = true;
  };

  Expected<int> beginAllGather(const Collective& collective);
  /// `keepsOwn`: `out` also gets this rank's own part.
  Expected<int> beginExchange(const Collective& collective, const char* what,
                              bool keepsOwn);
  Expected<int> beginShift(const Collective& collective);
  /// Copies `bytes` bytes of `in` to every other rank, where they are this
  /// rank's part of `out`. For the rank at index i of the group they start at
  /// `in` + i * stride. `keepsOwn`: copies to this rank, too.
  Status copyParts(const char* what, const NcclGroup& commGroup,
                   const Tensor& in, int64_t stride, const Tensor& out,
                   int64_t bytes, bool keepsOwn);

  /// Makes a stream wait for the kernels enqueued so far.
  Status follow(cudaStream_t stream);
  /// Records an event after the work enqueued on the group's stream. Returns
  /// its id for finish.
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
