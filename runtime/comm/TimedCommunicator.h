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
      : Communicator(inner.rank(), inner.ranks(), inner.watch()), inner(inner),
        device(device) {}

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

  Communicator& host() override { return inner.host(); }
  Status run(const Collective& collective) override;
  Expected<int> begin(const Collective& collective) override;
  Status move(const Message& message) override;
  Expected<int> begin(const Message& message) override;
  Status finish(int message) override;
  Status addTerms(int group, const Tensor& in, const Tensor& terms,
                  const Tensor& out) override {
    return inner.addTerms(group, in, terms, out);
  }
  Expected<std::string> share(std::byte* memory, int64_t bytes) override {
    return inner.share(memory, bytes);
  }
  Status beginsRecording() override;
  int endsRecording() override;
  Status launched(int recording) override;
  Status check() override { return inner.check(); }
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
