// Collectives over one rank: copies.

#include "runtime/comm/LocalCommunicator.h"

#include <cassert>
#include <cstring>

namespace reciperun::comm {
namespace {

Status copy(const Tensor& in, const Tensor& out) {
  assert(in.bytes() == out.bytes() && "one rank's part is the whole");
  if (in.data != out.data)
    std::memmove(out.data, in.data, size_t(in.bytes()));
  return Status::ok();
}

Status nobody() {
  return Status::error("a job of one rank has nobody to exchange with");
}

} // namespace

Status LocalCommunicator::allReduce(int, const Tensor& in, const Tensor& out,
                                    Reduction) {
  return copy(in, out);
}
Status LocalCommunicator::allGather(int, const Tensor& in, const Tensor& out,
                                    int) {
  return copy(in, out);
}
Status LocalCommunicator::reduceScatter(int, const Tensor& in,
                                        const Tensor& out, int) {
  return copy(in, out);
}
Status LocalCommunicator::allToAll(int, const Tensor& in, const Tensor& out,
                                   ShardExchange) {
  return copy(in, out);
}
Status LocalCommunicator::send(int, std::span<const std::byte>) {
  return nobody();
}
Status LocalCommunicator::receive(int, std::span<std::byte>) {
  return nobody();
}
Expected<int> LocalCommunicator::beginSend(int, int,
                                           std::span<const std::byte>) {
  return nobody();
}
Expected<int> LocalCommunicator::beginReceive(int, int, std::span<std::byte>) {
  return nobody();
}
Expected<int> LocalCommunicator::beginAllGather(int, const Tensor&,
                                                const Tensor&) {
  return nobody();
}
Expected<int> LocalCommunicator::beginExchange(int, const Tensor&,
                                               const Tensor&) {
  return nobody();
}
Expected<int> LocalCommunicator::beginShift(int, std::span<const Shift>) {
  return nobody();
}
Status LocalCommunicator::finish(int) {
  return nobody();
}

} // namespace reciperun::comm
