// A communicator that adds up how long its callers are held up.

#ifndef RECIPERUN_COMM_TIMEDCOMMUNICATOR_H
#define RECIPERUN_COMM_TIMEDCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

namespace reciperun::comm {

/// Hands all calls on. The time counts from a call until its return: with
/// waiting for other ranks, packing and adding up.
class TimedCommunicator : public Communicator {
public:
  /// `inner` outlives the object.
  explicit TimedCommunicator(Communicator& inner) : inner(inner) {}

  /// Seconds spent in calls so far.
  double seconds() const { return spent; }

  int rank() const override { return inner.rank(); }
  int ranks() const override { return inner.ranks(); }
  Status allReduce(int group, const Tensor& in, const Tensor& out,
                   Reduction reduction) override;
  Status allGather(int group, const Tensor& in, const Tensor& out,
                   int dim) override;
  Status reduceScatter(int group, const Tensor& in, const Tensor& out,
                       int dim) override;
  Status allToAll(int group, const Tensor& in, const Tensor& out, int split,
                  int concat) override;
  Status send(int to, std::span<const std::byte> bytes) override;
  Status receive(int from, std::span<std::byte> bytes) override;
  Expected<int> beginSend(int to, int channel,
                          std::span<const std::byte> bytes) override;
  Expected<int> beginReceive(int from, int channel,
                             std::span<std::byte> bytes) override;
  Status finish(int message) override;
  Expected<int> beginAllGather(int group, const Tensor& in,
                               const Tensor& out) override;
  Expected<int> beginExchange(int group, const Tensor& in,
                              const Tensor& out) override;
  Status agree(const Status& mine) override;

private:
  template <class Call> auto timed(const Call& call);

  Communicator& inner;
  double spent = 0;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_TIMEDCOMMUNICATOR_H
