// See NcclBackground.h.

#include "runtime/comm/NcclBackground.h"

#include "runtime/comm/CudaShards.h"
#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <cassert>

namespace reciperun::comm {

NcclBackground::~NcclBackground() {
  for (const Underway& each : underway)
    cudaEventDestroy(each.done);
  if (enqueued)
    cudaEventDestroy(enqueued);
}

Status NcclBackground::open() {
  RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &enqueued,
                     cudaEventDisableTiming);
  return Status::ok();
}

Expected<int> NcclBackground::begin(const Collective& collective) {
  progress.startsOp(collective.op);
  switch (collective.kind) {
  case Collective::Kind::allGather:
    return beginAllGather(collective);
  case Collective::Kind::reduceScatter:
    return beginExchange(collective, "reduce-scatter", false);
  case Collective::Kind::allToAll:
    return beginExchange(collective, "all-to-all", true);
  case Collective::Kind::shift:
    return beginShift(collective);
  case Collective::Kind::allReduce:
  case Collective::Kind::broadcast:
  case Collective::Kind::reduce:
  case Collective::Kind::transfers:
    break;
  }
  assert(false && "a collective without two halves");
  return Status::error("unknown collective");
}

Status NcclBackground::follow(cudaStream_t stream) {
  RECIPERUN_CUDA_TRY(cudaEventRecord, enqueued, context.stream());
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, stream, enqueued, 0);
  return Status::ok();
}

Expected<int> NcclBackground::keep(const char* what,
                                   const NcclGroup& commGroup) {
  auto free = std::find_if(underway.begin(), underway.end(),
                           [](const Underway& each) { return each.isFree; });
  if (free == underway.end()) {
    cudaEvent_t event = nullptr;
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &event,
                       cudaEventDisableTiming);
    free = underway.insert(underway.end(), {event, true});
  }
  // note() enqueues a write, so it comes before the event `done`. Peer copies
  // have already announced themselves to the watch.
  if (commGroup.copies < 0)
    RECIPERUN_TRY(progress.note(what, commGroup));
  RECIPERUN_CUDA_TRY(cudaEventRecord, free->done, commGroup.stream);
  free->isFree = false;
  return int(free - underway.begin());
}

Status NcclBackground::finish(int message) {
  Underway& begun = underway[size_t(message)];
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, context.stream(), begun.done, 0);
  begun.isFree = true;
  return Status::ok();
}

Expected<int> NcclBackground::begin(const Message& message) {
  progress.startsOp(message.op);
  const bool isSent = message.kind == Message::Kind::send;
  const char* const what = isSent ? "a message sent" : "a message received";
  const NcclGroup& pair = (isSent ? connections.sending : connections.receiving)
                              .at({message.peer, message.link});
  const Watch::Wait wait = progress.waitFor(what, pair);
  RECIPERUN_TRY(follow(pair.stream));
  constexpr int sender = 0, receiver = 1;
  if (isSent)
    RECIPERUN_NCCL_TRY(nccl, pair, Send, message.sent.data(),
                       message.sent.size(), ncclInt8, receiver, pair.comm,
                       pair.stream);
  else
    RECIPERUN_NCCL_TRY(nccl, pair, Recv, message.received.data(),
                       message.received.size(), ncclInt8, sender, pair.comm,
                       pair.stream);
  return keep(what, pair);
}

Expected<int> NcclBackground::beginAllGather(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  Expected<const NcclGroup*> found =
      findGroup(connections.background, collective.group);
  RECIPERUN_TRY(found);
  const NcclGroup& commGroup = **found;
  const Watch::Wait wait = progress.waitFor("all-gather", commGroup);
  RECIPERUN_TRY(follow(commGroup.stream));
  if (commGroup.ranks == 1)
    RECIPERUN_TRY(copyOwn(commGroup, in.data, out.data, in.bytes()));
  else if (commGroup.copies >= 0)
    RECIPERUN_TRY(
        copyParts("all-gather", commGroup, in, 0, out, in.bytes(), true));
  else
    RECIPERUN_NCCL_TRY(nccl, commGroup, AllGather, in.data, out.data,
                       size_t(in.elements()), ncclType(in.type), commGroup.comm,
                       commGroup.stream);
  return keep("all-gather", commGroup);
}

Expected<int> NcclBackground::beginExchange(const Collective& collective,
                                            const char* what, bool keepsOwn) {
  const Tensor &in = collective.in, &out = collective.out;
  Expected<const NcclGroup*> found =
      findGroup(connections.background, collective.group);
  RECIPERUN_TRY(found);
  const NcclGroup& commGroup = **found;
  const Watch::Wait wait = progress.waitFor(what, commGroup);
  RECIPERUN_TRY(follow(commGroup.stream));
  if (commGroup.ranks == 1)
    RECIPERUN_TRY(copyOwn(commGroup, in.data, out.data, in.bytes()));
  else if (const int64_t part = in.bytes() / commGroup.ranks;
           commGroup.copies >= 0)
    RECIPERUN_TRY(copyParts(what, commGroup, in, part, out, part, keepsOwn));
  else
    RECIPERUN_TRY(exchangeParts(nccl, commGroup, in.as<std::byte>(),
                                out.as<std::byte>(), part));
  return keep(what, commGroup);
}

/// The copy to this rank itself comes first. A reduce-scatter omits it, because
/// addTerms reads the part in place.
Status NcclBackground::copyParts(const char* what, const NcclGroup& commGroup,
                                 const Tensor& in, int64_t stride,
                                 const Tensor& out, int64_t bytes,
                                 bool keepsOwn) {
  std::byte* const part = out.as<std::byte>() + commGroup.rank * bytes;
  std::vector<PeerCopies::Copy> copies;
  std::vector<int> others;
  if (keepsOwn)
    copies.push_back(
        {rank, in.as<std::byte>() + commGroup.rank * stride, part, bytes});
  for (int step = 1; step < commGroup.ranks; ++step) {
    const int place = (commGroup.rank + step) % commGroup.ranks;
    others.push_back(commGroup.members[size_t(place)]);
    copies.push_back(
        {others.back(), in.as<std::byte>() + place * stride, part, bytes});
  }
  return connections.peers->enqueue(commGroup.copies, copies, others,
                                    progress.announce(what, commGroup),
                                    commGroup.stream);
}

Expected<int> NcclBackground::beginShift(const Collective& collective) {
  Expected<const NcclGroup*> found =
      findGroup(connections.background, collective.group);
  RECIPERUN_TRY(found);
  const NcclGroup& commGroup = **found;
  const Watch::Wait wait = progress.waitFor("a turn of a ring", commGroup);
  RECIPERUN_TRY(follow(commGroup.stream));
  if (commGroup.ranks == 1) {
    for (const Shift& shift : collective.shifts)
      RECIPERUN_TRY(
          copyOwn(commGroup, shift.out.data, shift.in.data, shift.in.bytes()));
    return keep("a turn of a ring", commGroup);
  }
  const int next = (commGroup.rank + 1) % commGroup.ranks;
  const int before = (commGroup.rank + commGroup.ranks - 1) % commGroup.ranks;
  if (commGroup.copies >= 0) {
    std::vector<PeerCopies::Copy> copies;
    for (const Shift& shift : collective.shifts)
      copies.push_back({commGroup.members[size_t(next)], shift.out.data,
                        shift.in.data, shift.in.bytes()});
    const int senders[] = {commGroup.members[size_t(before)]};
    RECIPERUN_TRY(connections.peers->enqueue(
        commGroup.copies, copies, senders,
        progress.announce("a turn of a ring", commGroup), commGroup.stream));
    return keep("a turn of a ring", commGroup);
  }
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupStart);
  for (const Shift& shift : collective.shifts) {
    RECIPERUN_NCCL_TRY(nccl, commGroup, Send, shift.out.data,
                       size_t(shift.out.bytes()), ncclInt8, next,
                       commGroup.comm, commGroup.stream);
    RECIPERUN_NCCL_TRY(nccl, commGroup, Recv, shift.in.data,
                       size_t(shift.in.bytes()), ncclInt8, before,
                       commGroup.comm, commGroup.stream);
  }
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupEnd);
  return keep("a turn of a ring", commGroup);
}

Status NcclBackground::addTerms(int group, const Tensor& in,
                                const Tensor& terms, const Tensor& out) {
  Expected<const NcclGroup*> found = findGroup(connections.background, group);
  RECIPERUN_TRY(found);
  const NcclGroup& commGroup = **found;
  const std::byte* const own =
      commGroup.copies < 0 ? terms.as<std::byte>() : in.as<std::byte>();
  return addTermsInOrder(terms.type,
                         {terms.as<std::byte>(), commGroup.ranks,
                          commGroup.rank, own + commGroup.rank * out.bytes()},
                         out.elements(), out.as<std::byte>(), context.stream());
}

} // namespace reciperun::comm
