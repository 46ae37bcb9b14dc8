// See TimedCommunicator.h.

#include "runtime/comm/TimedCommunicator.h"

namespace reciperun::comm {

template <class Call> auto TimedCommunicator::timed(const Call& call) {
  if (!isTiming)
    return call();
  const int begin = device.mark();
  auto result = call();
  spent.push_back({begin, device.mark()});
  return result;
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
                                   const Tensor& out, int split, int concat) {
  return timed([&] { return inner.allToAll(group, in, out, split, concat); });
}

Status TimedCommunicator::send(int to, std::span<const std::byte> bytes) {
  return timed([&] { return inner.send(to, bytes); });
}

Status TimedCommunicator::receive(int from, std::span<std::byte> bytes) {
  return timed([&] { return inner.receive(from, bytes); });
}

Expected<int> TimedCommunicator::beginSend(int to, int channel,
                                           std::span<const std::byte> bytes) {
  return timed([&] { return inner.beginSend(to, channel, bytes); });
}

Expected<int> TimedCommunicator::beginReceive(int from, int channel,
                                              std::span<std::byte> bytes) {
  return timed([&] { return inner.beginReceive(from, channel, bytes); });
}

Expected<int> TimedCommunicator::beginAllGather(int group, const Tensor& in,
                                                const Tensor& out) {
  return timed([&] { return inner.beginAllGather(group, in, out); });
}

Expected<int> TimedCommunicator::beginExchange(int group, const Tensor& in,
                                               const Tensor& out) {
  return timed([&] { return inner.beginExchange(group, in, out); });
}

Expected<int> TimedCommunicator::beginShift(int group,
                                            std::span<const Shift> shifts) {
  return timed([&] { return inner.beginShift(group, shifts); });
}

Status TimedCommunicator::finish(int message) {
  return timed([&] { return inner.finish(message); });
}

} // namespace reciperun::comm
