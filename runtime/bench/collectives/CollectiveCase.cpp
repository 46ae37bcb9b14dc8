// See CollectiveCase.h.

#include "runtime/bench/collectives/CollectiveCase.h"

#include <utility>

namespace reciperun::bench {
namespace {

using comm::Communicator;
using comm::Tensor;
using comm::Transfer;

/// The tensors of one call. Tensors refer to the shapes.
class CallTensors {
public:
  CallTensors(const CollectiveCase& one, std::byte* in, std::byte* out)
      : one(one), in(in), out(out) {}

  Tensor input() const { return of(in, sent); }
  Tensor output() const { return of(out, received); }
  /// Part `number` of the input or output, of `parts` neighbouring ones.
  Tensor inputPart(int number) const { return part(in, number, counted); }
  Tensor outputPart(int number) const { return part(out, number, counted); }

private:
  Tensor of(std::byte* data, const int64_t (&shape)[1]) const {
    return {data, one.kind.type->carrier, shape};
  }
  Tensor part(std::byte* data, int number, const int64_t (&shape)[1]) const {
    return of(data + number * counted[0] * one.elementBytes(), shape);
  }

  const CollectiveCase& one;
  std::byte *in, *out;
  const int64_t sent[1] = {one.counts.sent};
  const int64_t received[1] = {one.counts.received};
  const int64_t counted[1] = {one.counts.counted};
};

/// Each rank to the next one, the last to the first.
Status sendToNext(Communicator& communicator, int group,
                  const CollectiveCase& one, const CallTensors& tensors) {
  const Transfer send[] = {{(one.rank + 1) % one.ranks, tensors.input()}};
  const Transfer receive[] = {
      {(one.rank + one.ranks - 1) % one.ranks, tensors.output()}};
  return communicator.transfer(group, send, receive);
}

/// The root's own part is not sent where it is in place.
Status gatherToRoot(Communicator& communicator, int group,
                    const CollectiveCase& one, const CallTensors& tensors) {
  const Tensor own = tensors.input();
  const bool isInPlace =
      one.isRoot() && own.data == tensors.outputPart(one.rank).data;
  std::vector<Transfer> sends, receives;
  if (!isInPlace)
    sends.push_back({one.kind.root, own});
  if (one.isRoot())
    for (int from = 0; from < one.ranks; ++from)
      if (from != one.rank || !isInPlace)
        receives.push_back({from, tensors.outputPart(from)});
  return communicator.transfer(group, sends, receives);
}

Status scatterFromRoot(Communicator& communicator, int group,
                       const CollectiveCase& one, const CallTensors& tensors) {
  const Tensor own = tensors.output();
  const bool isInPlace =
      one.isRoot() && own.data == tensors.inputPart(one.rank).data;
  std::vector<Transfer> sends, receives;
  if (one.isRoot())
    for (int to = 0; to < one.ranks; ++to)
      if (to != one.rank || !isInPlace)
        sends.push_back({to, tensors.inputPart(to)});
  if (!isInPlace)
    receives.push_back({one.kind.root, own});
  return communicator.transfer(group, sends, receives);
}

/// An all-gather in log2(ranks) steps: in step s a rank exchanges the 2^s parts
/// that it has with the rank whose index differs in bit s.
Status gatherOverHypercube(Communicator& communicator, int group,
                           const CollectiveCase& one,
                           const CallTensors& tensors) {
  const Tensor own = tensors.input();
  const bool isInPlace = own.data == tensors.outputPart(one.rank).data;
  if (!isInPlace) {
    const Transfer send[] = {{one.rank, own}};
    const Transfer receive[] = {{one.rank, tensors.outputPart(one.rank)}};
    RECIPERUN_TRY(communicator.transfer(group, send, receive));
  }
  for (int bit = 1; bit < one.ranks; bit <<= 1) {
    const int first = one.rank & ~(bit - 1), peer = one.rank ^ bit;
    const int64_t shape[] = {one.counts.counted * bit};
    Tensor had = tensors.outputPart(first),
           got = tensors.outputPart(first ^ bit);
    had.shape = got.shape = shape;
    const Transfer send[] = {{peer, had}};
    const Transfer receive[] = {{peer, got}};
    RECIPERUN_TRY(communicator.transfer(group, send, receive));
  }
  return Status::ok();
}

} // namespace

CollectiveCase caseOf(const CollectiveKind& kind, int64_t bytes, int rank,
                      int ranks) {
  return {kind, rank, ranks,
          benchlog::countsOf(kind.test, bytes, kind.type->bytes(), ranks)};
}

InPlaceOffsets inPlaceOffsets(const CollectiveCase& one) {
  const int64_t own = one.rank * one.counts.counted * one.elementBytes();
  switch (one.kind.test) {
  case CollectiveTest::allGather:
  case CollectiveTest::gather:
  case CollectiveTest::hypercube:
    return {own, 0};
  case CollectiveTest::reduceScatter:
  case CollectiveTest::scatter:
    return {0, own};
  case CollectiveTest::allReduce:
  case CollectiveTest::broadcast:
  case CollectiveTest::reduce:
  case CollectiveTest::allToAll:
  case CollectiveTest::sendRecv:
    return {0, 0};
  }
  return {0, 0};
}

Status runCollective(Communicator& communicator, int group,
                     const CollectiveCase& one, std::byte* in, std::byte* out) {
  const CallTensors tensors(one, in, out);
  const Tensor from = tensors.input(), to = tensors.output();
  const auto [test, type, reduction, root] = one.kind;
  switch (test) {
  case CollectiveTest::allReduce:
    return communicator.allReduce(group, from, to, reduction);
  case CollectiveTest::allGather:
    return communicator.allGather(group, from, to, /*dim=*/0);
  case CollectiveTest::reduceScatter:
    return communicator.reduceScatter(group, from, to, /*dim=*/0, reduction);
  case CollectiveTest::broadcast:
    return communicator.broadcast(group, from, to, root);
  case CollectiveTest::reduce:
    return communicator.reduce(group, from, to, reduction, root);
  case CollectiveTest::allToAll:
    return communicator.allToAll(group, from, to, {.split = 0, .concat = 0});
  case CollectiveTest::sendRecv:
    return sendToNext(communicator, group, one, tensors);
  case CollectiveTest::gather:
    return gatherToRoot(communicator, group, one, tensors);
  case CollectiveTest::scatter:
    return scatterFromRoot(communicator, group, one, tensors);
  case CollectiveTest::hypercube:
    return gatherOverHypercube(communicator, group, one, tensors);
  }
  return Status::error("unknown collective");
}

CollectiveValues::CollectiveValues(const CollectiveKind& kind, int rank,
                                   int ranks) {
  if (benchlog::isReducing(kind.test)) {
    columns[rank] = termColumn(*kind.type, kind.reduction, ranks, rank);
    result = resultColumn(*kind.type, kind.reduction, ranks);
    return;
  }
  for (int each = 0; each < ranks; ++each)
    columns[each] = movedColumn(each);
}

std::vector<Segment> CollectiveValues::input(const CollectiveCase& one) const {
  return {{0, one.counts.sent, &of(one.rank), 0}};
}

/// The output as one part of each rank, from that rank's element `first` on.
std::vector<Segment> CollectiveValues::parts(const CollectiveCase& one,
                                             int64_t first) const {
  std::vector<Segment> parts;
  for (int from = 0; from < one.ranks; ++from)
    parts.push_back(
        {from * one.counts.counted, one.counts.counted, &of(from), first});
  return parts;
}

std::vector<Segment> CollectiveValues::output(const CollectiveCase& one) const {
  const int64_t received = one.counts.received;
  const int64_t own = one.rank * one.counts.counted;
  switch (one.kind.test) {
  case CollectiveTest::allReduce:
    return {{0, received, &result, 0}};
  case CollectiveTest::reduceScatter:
    return {{0, received, &result, own}};
  case CollectiveTest::reduce:
    if (!one.isRoot())
      return {};
    return {{0, received, &result, 0}};
  case CollectiveTest::broadcast:
    return {{0, received, &of(one.kind.root), 0}};
  case CollectiveTest::scatter:
    return {{0, received, &of(one.kind.root), own}};
  case CollectiveTest::sendRecv:
    return {{0, received, &of((one.rank + one.ranks - 1) % one.ranks), 0}};
  case CollectiveTest::gather:
    return one.isRoot() ? parts(one, 0) : std::vector<Segment>();
  case CollectiveTest::allGather:
  case CollectiveTest::hypercube:
    return parts(one, 0);
  case CollectiveTest::allToAll:
    return parts(one, own);
  }
  return {};
}

} // namespace reciperun::bench
