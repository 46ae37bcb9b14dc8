// The communicator of a job of one rank, without any message layer.

#ifndef RECIPERUN_COMM_LOCALCOMMUNICATOR_H
#define RECIPERUN_COMM_LOCALCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

namespace reciperun::comm {

/// Collectives over one rank: copies.
class LocalCommunicator : public Communicator {
public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  Status allReduce(int group, const Tensor& in, const Tensor& out,
                   Reduction reduction) override;
  Status allGather(int group, const Tensor& in, const Tensor& out,
                   int dim) override;
  Status reduceScatter(int group, const Tensor& in, const Tensor& out,
                       int dim) override;
  Status allToAll(int group, const Tensor& in, const Tensor& out,
                  ShardExchange exchange) override;
  Status send(int to, std::span<const std::byte> bytes) override;
  Status receive(int from, std::span<std::byte> bytes) override;
  Expected<int> beginSend(int to, int link,
                          std::span<const std::byte> bytes) override;
  Expected<int> beginReceive(int from, int link,
                             std::span<std::byte> bytes) override;
  Status finish(int message) override;
  Expected<int> beginAllGather(int group, const Tensor& in,
                               const Tensor& out) override;
  Expected<int> beginExchange(int group, const Tensor& in,
                              const Tensor& out) override;
  Expected<int> beginShift(int group, std::span<const Shift> shifts) override;
  Status agree(const Status& mine) override { return mine; }
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_LOCALCOMMUNICATOR_H
