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

/// Of what goes on beside a GPU's kernels the beginning holds nothing up.
template <class Call> auto TimedCommunicator::timedBegin(const Call& call) {
  return device.isHost() ? timed(call) : call();
}

void TimedCommunicator::startTiming() {
  spent.clear();
  isTiming = true;
}

Status TimedCommunicator::allReduce(int group, const Tensor& in,
                                    const Tensor& out, Reduction reduction) {
  return timed([&] { return inner.allReduce(group, in, out, reduction); });
}

Status TimedCommunicator::allGather(int group, const Tensor& in,
                                    const Tensor& out, int dim) {
  return timed([&] { return inner.allGather(group, in, out, dim); });
}

Status TimedCommunicator::reduceScatter(int group, const Tensor& in,
                                        const Tensor& out, int dim) {
  return timed([&] { return inner.reduceScatter(group, in, out, dim); });
}

Status TimedCommunicator::allToAll(int group, const Tensor& in,
                                   const Tensor& out, ShardExchange exchange) {
  return timed([&] { return inner.allToAll(group, in, out, exchange); });
}

Status TimedCommunicator::exchangeRows(int group, const Tensor& in,
                                       const Tensor& counts, const Tensor& out,
                                       ShardExchange exchange) {
  return timed(
      [&] { return inner.exchangeRows(group, in, counts, out, exchange); });
}

Status TimedCommunicator::send(int to, std::span<const std::byte> bytes) {
  return timed([&] { return inner.send(to, bytes); });
}

Status TimedCommunicator::receive(int from, std::span<std::byte> bytes) {
  return timed([&] { return inner.receive(from, bytes); });
}

Expected<int> TimedCommunicator::beginSend(int to, int link,
                                           std::span<const std::byte> bytes) {
  return timedBegin([&] { return inner.beginSend(to, link, bytes); });
}

Expected<int> TimedCommunicator::beginReceive(int from, int link,
                                              std::span<std::byte> bytes) {
  return timedBegin([&] { return inner.beginReceive(from, link, bytes); });
}

Expected<int> TimedCommunicator::beginAllGather(int group, const Tensor& in,
                                                const Tensor& out) {
  return timedBegin([&] { return inner.beginAllGather(group, in, out); });
}

Expected<int> TimedCommunicator::beginExchange(int group, const Tensor& in,
                                               const Tensor& out) {
  return timedBegin([&] { return inner.beginExchange(group, in, out); });
}

Expected<int> TimedCommunicator::beginShift(int group,
                                            std::span<const Shift> shifts) {
  return timedBegin([&] { return inner.beginShift(group, shifts); });
}

Status TimedCommunicator::beginsRecording() {
  isRecording = true;
  recorded.emplace_back();
  return inner.beginsRecording();
}

int TimedCommunicator::endsRecording() {
  isRecording = false;
  inner.endsRecording(); // counts as this does
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
