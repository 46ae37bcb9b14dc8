// A communicator that notes how long the device is held up by it.

#ifndef RECIPERUN_COMM_TIMEDCOMMUNICATOR_H
#define RECIPERUN_COMM_TIMEDCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"

#include <vector>

namespace reciperun::comm {

/// Hands all calls on. The time counts between marks of the device before a
/// call and behind it: with waiting for other ranks, packing and adding up. Of
/// what is recorded it is that of the last launch, for each of them.
class TimedCommunicator : public Communicator {
public:
  /// The arguments outlive the object.
  TimedCommunicator(Communicator& inner, device::Device& device)
      : inner(inner), device(device) {}

  /// Two of the device's marks.
  struct Interval {
    int begin = 0;
    int end = 0;
  };
  /// Begins to note the time of calls, forgetting that of earlier ones; and
  /// ends.
  void startTiming();
  void stopTiming() { isTiming = false; }
  /// Of the calls since startTiming.
  const std::vector<Interval>& intervals() const { return spent; }

  int rank() const override { return inner.rank(); }
  int ranks() const override { return inner.ranks(); }
  Communicator& host() override { return inner.host(); }
  Status allReduce(int group, const Tensor& in, const Tensor& out,
                   Reduction reduction) override;
  Status allGather(int group, const Tensor& in, const Tensor& out,
                   int dim) override;
  Status reduceScatter(int group, const Tensor& in, const Tensor& out,
                       int dim) override;
  Status allToAll(int group, const Tensor& in, const Tensor& out,
                  ShardExchange exchange) override;
  Status exchangeRows(int group, const Tensor& in, const Tensor& counts,
                      const Tensor& out, ShardExchange exchange) override;
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
  Status addTerms(int group, const Tensor& in, const Tensor& terms,
                  const Tensor& out) override {
    return inner.addTerms(group, in, terms, out);
  }
  Status share(std::byte* memory, int64_t bytes) override {
    return inner.share(memory, bytes);
  }
  std::string note() const override { return inner.note(); }
  void startsOp(std::string_view name) override { inner.startsOp(name); }
  Status beginsRecording() override;
  int endsRecording() override;
  Status launched(int recording) override;
  Status check() override { return inner.check(); }
  Watch* watch() override { return inner.watch(); }
  Status agree(const Status& mine) override { return inner.agree(mine); }

private:
  template <class Call> auto timed(const Call& call);
  template <class Call> auto timedBegin(const Call& call);

  Communicator& inner;
  device::Device& device;
  bool isTiming = false;
  bool isRecording = false;
  std::vector<Interval> spent;
  std::vector<std::vector<Interval>> recorded; // by recording
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_TIMEDCOMMUNICATOR_H
