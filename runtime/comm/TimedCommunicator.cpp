// See TimedCommunicator.h.

#include "runtime/comm/TimedCommunicator.h"

namespace reciperun::comm {

template <class Call> auto TimedCommunicator::timed(const Call& call) {
  if (!isTiming && !isRecording)
    return call();
  const int begin = device.mark();
  auto result = call();
  std::vector<Interval>& intervals = isRecording ? recorded.back() : spent;
  intervals.push_back({begin, device.mark()});
  return result;
}

/// On a GPU, begin only enqueues and does not delay other work, so it is timed
/// only on a host.
template <class Call> auto TimedCommunicator::timedBegin(const Call& call) {
  return device.isHost() ? timed(call) : call();
}

void TimedCommunicator::startTiming() {
  spent.clear();
  isTiming = true;
}

Status TimedCommunicator::run(const Collective& collective) {
  return timed([&] { return inner.run(collective); });
}

Expected<int> TimedCommunicator::begin(const Collective& collective) {
  return timedBegin([&] { return inner.begin(collective); });
}

Status TimedCommunicator::move(const Message& message) {
  return timed([&] { return inner.move(message); });
}

Expected<int> TimedCommunicator::begin(const Message& message) {
  return timedBegin([&] { return inner.begin(message); });
}

Status TimedCommunicator::beginsRecording() {
  isRecording = true;
  recorded.emplace_back();
  return inner.beginsRecording();
}

int TimedCommunicator::endsRecording() {
  isRecording = false;
  inner.endsRecording(); // returns the same index
  return int(recorded.size()) - 1;
}

Status TimedCommunicator::launched(int recording) {
  const std::vector<Interval>& intervals = recorded[size_t(recording)];
  if (isTiming)
    spent.insert(spent.end(), intervals.begin(), intervals.end());
  return inner.launched(recording);
}

Status TimedCommunicator::finish(int message) {
  return timed([&] { return inner.finish(message); });
}

} // namespace reciperun::comm
