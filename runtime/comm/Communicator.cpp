// Turns calls into descriptions, and implements the functions that all
// communicators share.

#include "runtime/comm/Communicator.h"

#include "runtime/comm/Reduce.h"

namespace reciperun::comm {
namespace {

constexpr int noLink = -1;

} // namespace

Status Communicator::allReduce(int group, const Tensor& in, const Tensor& out,
                               Reduction reduction) {
  return run({.kind = Collective::Kind::allReduce,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .reduction = reduction});
}

Status Communicator::allGather(int group, const Tensor& in, const Tensor& out,
                               int dim) {
  return run({.kind = Collective::Kind::allGather,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .dim = dim});
}

Status Communicator::reduceScatter(int group, const Tensor& in,
                                   const Tensor& out, int dim,
                                   Reduction reduction) {
  return run({.kind = Collective::Kind::reduceScatter,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .reduction = reduction,
              .dim = dim});
}

Status Communicator::broadcast(int group, const Tensor& in, const Tensor& out,
                               int root) {
  return run({.kind = Collective::Kind::broadcast,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .root = root});
}

Status Communicator::reduce(int group, const Tensor& in, const Tensor& out,
                            Reduction reduction, int root) {
  return run({.kind = Collective::Kind::reduce,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .reduction = reduction,
              .root = root});
}

Status Communicator::transfer(int group, std::span<const Transfer> sends,
                              std::span<const Transfer> receives) {
  return run({.kind = Collective::Kind::transfers,
              .op = op,
              .group = group,
              .in = {},
              .out = {},
              .sends = sends,
              .receives = receives});
}

Status Communicator::allToAll(int group, const Tensor& in, const Tensor& out,
                              ShardExchange exchange) {
  return run({.kind = Collective::Kind::allToAll,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .exchange = exchange});
}

Status Communicator::exchangeRows(int group, const Tensor& in,
                                  const Tensor& counts, const Tensor& out,
                                  ShardExchange exchange) {
  return run({.kind = Collective::Kind::allToAll,
              .op = op,
              .group = group,
              .in = in,
              .out = out,
              .exchange = exchange,
              .counts = counts});
}

Status Communicator::send(int to, std::span<const std::byte> bytes) {
  return move({Message::Kind::send, op, to, noLink, bytes, {}});
}

Status Communicator::receive(int from, std::span<std::byte> bytes) {
  return move({Message::Kind::receive, op, from, noLink, {}, bytes});
}

Expected<int> Communicator::beginSend(int to, int link,
                                      std::span<const std::byte> bytes) {
  return begin(Message{Message::Kind::send, op, to, link, bytes, {}});
}

Expected<int> Communicator::beginReceive(int from, int link,
                                         std::span<std::byte> bytes) {
  return begin(Message{Message::Kind::receive, op, from, link, {}, bytes});
}

Expected<int> Communicator::beginAllGather(int group, const Tensor& in,
                                           const Tensor& out) {
  return begin(Collective{.kind = Collective::Kind::allGather,
                          .op = op,
                          .group = group,
                          .in = in,
                          .out = out});
}

Expected<int> Communicator::beginExchange(int group, const Tensor& in,
                                          const Tensor& out) {
  return begin(Collective{.kind = Collective::Kind::reduceScatter,
                          .op = op,
                          .group = group,
                          .in = in,
                          .out = out});
}

Expected<int> Communicator::beginAllToAll(int group, const Tensor& in,
                                          const Tensor& out) {
  return begin(Collective{.kind = Collective::Kind::allToAll,
                          .op = op,
                          .group = group,
                          .in = in,
                          .out = out});
}

Expected<int> Communicator::beginShift(int group,
                                       std::span<const Shift> shifts) {
  return begin(Collective{.kind = Collective::Kind::shift,
                          .op = op,
                          .group = group,
                          .in = {},
                          .out = {},
                          .shifts = shifts});
}

/// Sums terms in host memory. `terms` includes the rank's own term.
Status Communicator::addTerms(int /*group*/, const Tensor& /*in*/,
                              const Tensor& terms, const Tensor& out) {
  reduceInRankOrder(terms.type, Reduction::sum, terms.as<std::byte>(),
                    out.bytes(), int(terms.elements() / out.elements()),
                    out.elements(), out.as<std::byte>());
  return Status::ok();
}

Expected<int64_t> Communicator::maximum(int64_t mine) {
  const int64_t shape[] = {1};
  Tensor value{&mine, plan::DType::i64, shape};
  RECIPERUN_TRY(host().allReduce(world, value, value, Reduction::max));
  return mine;
}

} // namespace reciperun::comm
