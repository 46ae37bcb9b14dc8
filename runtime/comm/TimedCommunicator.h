// A communicator that measures how long its calls hold up the device.

#ifndef RECIPERUN_COMM_TIMEDCOMMUNICATOR_H
#define RECIPERUN_COMM_TIMEDCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"

#include <vector>

namespace reciperun::comm {

/// Forwards all calls. The time is measured between device marks before and
/// after a call. It includes waiting for other ranks, packing and summing. A
/// recorded call has the time of the recording's last launch, counted once per
/// launch.
class TimedCommunicator : public Communicator {
public:
  /// The arguments outlive the object.
  TimedCommunicator(Communicator& inner, device::Device& device)
      : Communicator(inner.rank(), inner.ranks(), inner.watch()), inner(inner),
        device(device) {}

  /// Two marks of the device.
  struct Interval {
    int begin = 0;
    int end = 0;
  };
  /// Clears earlier measurements and starts measuring; stopTiming ends it.
  void startTiming();
  void stopTiming() { isTiming = false; }
  /// The intervals of the calls since startTiming.
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
