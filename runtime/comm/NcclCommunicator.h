// GPU collectives over NCCL, ordered with the device's stream.
//
// NcclConnections  the connections of the GPU, made once from the plan;
// NcclCollectives  collectives in stream order with kernels;
// NcclBackground   transfers that overlap with kernels;
// NcclProgress     reports to the watches what the rank waits for.

#ifndef RECIPERUN_COMM_NCCLCOMMUNICATOR_H
#define RECIPERUN_COMM_NCCLCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/NcclBackground.h"
#include "runtime/comm/NcclCollectives.h"
#include "runtime/comm/NcclConnections.h"
#include "runtime/comm/NcclProgress.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <string>

namespace reciperun::comm {

class NcclCommunicator final : public Communicator {
public:
  /// Connects the GPUs of all ranks; `host` connects the processes. Collective.
  /// The context outlives the object.
  static Expected<std::unique_ptr<Communicator>>
  make(const plan::Plan& plan, std::unique_ptr<Communicator> host,
       device::CudaContext& context);
  ~NcclCommunicator() override;

  Communicator& host() override { return *processes; }

  Status run(const Collective& collective) override;
  Expected<int> begin(const Collective& collective) override;
  Status move(const Message& message) override;
  Expected<int> begin(const Message& message) override;
  Status finish(int message) override;
  Status addTerms(int group, const Tensor& in, const Tensor& terms,
                  const Tensor& out) override;
  Status beginsRecording() override;
  int endsRecording() override { return progress.endsRecording(); }
  Status launched(int recording) override;
  Status check() override { return connections->check(); }
  Status agree(const Status& mine) override;
  Expected<std::string> share(std::byte* memory, int64_t bytes) override;

private:
  NcclCommunicator(std::unique_ptr<Communicator> host,
                   std::unique_ptr<NcclConnections> connected,
                   device::CudaContext& context);
  Status open();

  std::unique_ptr<Communicator> processes;
  device::CudaContext& context;
  std::unique_ptr<NcclConnections> connections;
  NcclProgress progress;
  NcclBackground background;
  NcclCollectives collectives;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLCOMMUNICATOR_H
