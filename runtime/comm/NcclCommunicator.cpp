// Collectives by NCCL. Tensors that are split along the first dimension that
// exceeds 1 go as they are. Of others,
//
// few rows    each row is a collective of its own, all in one launch;
// many rows   pass through the buffers in pieces: an all-gather's from the last
//             to the first, a reduce-scatter's from the first to the last, so
//             that a tensor that starts where the other does is read before it
//             is overwritten; an all-to-all's are packed and unpacked.
//
// What begins runs on another stream, behind the kernels that were enqueued by
// then; finish has later kernels wait for it.

#include "runtime/comm/NcclCommunicator.h"

#include "runtime/comm/CudaShards.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace reciperun::comm {
namespace {

/// So many rows go as they are: NCCL launches that many collectives as one.
constexpr int64_t fewRows = 32;

ncclDataType_t ncclType(plan::DType type) {
  switch (type) {
  case plan::DType::f64:
    return ncclFloat64;
  case plan::DType::f32:
    return ncclFloat32;
  case plan::DType::bf16:
    return ncclBfloat16;
  case plan::DType::i32:
    return ncclInt32;
  case plan::DType::i64:
    return ncclInt64;
  case plan::DType::u16:
    return ncclFloat16; // moved, never added
  case plan::DType::f8e4m3:
  case plan::DType::f8e5m2:
  case plan::DType::f8e8m0:
    return ncclUint8; // likewise
  }
  return ncclFloat32;
}

const std::byte* bytesOf(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.data);
}
std::byte* writableBytes(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data);
}

} // namespace

bool NcclCommunicator::overlap(const Tensor& a, const Tensor& b) {
  return bytesOf(a) < bytesOf(b) + b.bytes() &&
         bytesOf(b) < bytesOf(a) + a.bytes();
}

/// Calls a function of NCCL and returns its failure.
#define NCCL_TRY(commGroup, name, ...)                                         \
  RECIPERUN_TRY(                                                               \
      nccl.check(nccl.name(__VA_ARGS__), "nccl" #name, (commGroup).comm))

Expected<const NcclCommunicator::CommGroup*>
NcclCommunicator::commGroup(const std::map<int, CommGroup>& commGroups,
                            int group) const {
  const auto found = commGroups.find(group);
  if (found == commGroups.end())
    return Status::error("group number " + std::to_string(group) +
                         " of the plan is not connected");
  return &found->second;
}

Blocks NcclCommunicator::partsOf(const Tensor& part, int dim,
                                 const CommGroup& commGroup) {
  return Blocks::of(part.shape, dim, commGroup.ranks,
                    plan::byteSize(part.type));
}

/// The most elements of each part that the buffers hold at a time, a multiple
/// that keeps accesses aligned.
int64_t NcclCommunicator::pieceElements(const CommGroup& commGroup,
                                        int64_t elementBytes) {
  constexpr int64_t aligned = 64;
  return sizes::packingBytes / elementBytes / commGroup.ranks / aligned *
         aligned;
}

/// What a collective of one rank is.
Status NcclCommunicator::copy(const CommGroup& commGroup, const void* from,
                              void* to, int64_t bytes) {
  if (from != to)
    RECIPERUN_CUDA_TRY(cudaMemcpyAsync, to, from, size_t(bytes),
                       cudaMemcpyDeviceToDevice, commGroup.stream);
  return Status::ok();
}

/// Enqueues what `body` enqueues for a group.
template <class Body>
Status NcclCommunicator::collect(const char* what, int group,
                                 const Body& body) {
  Expected<const CommGroup*> found = commGroup(groups, group);
  RECIPERUN_TRY(found);
  const Watch::Wait wait = waitFor(what, **found);
  RECIPERUN_TRY(body(**found));
  return watched(what, **found);
}

Watch::Wait NcclCommunicator::waitFor(const char* what,
                                      const CommGroup& commGroup) const {
  return Watch::Wait(processes->watch(), {what, op, commGroup.name});
}

/// Has the watch know what was enqueued last.
Status NcclCommunicator::watched(const char* what, const CommGroup& commGroup) {
  return commGroup.ranks == 1
             ? Status::ok()
             : waits.note(commGroup.stream, purposeOf(what, commGroup));
}

/// Has the watch know what is enqueued next, which is to set the word that
/// comes back when it is done.
device::HostWord NcclCommunicator::announced(const char* what,
                                             const CommGroup& commGroup) {
  return waits.announce(commGroup.stream, purposeOf(what, commGroup));
}

std::string NcclCommunicator::purposeOf(const char* what,
                                        const CommGroup& commGroup) const {
  const std::string purpose =
      op.empty() ? "" : " for op `" + std::string(op) + "`";
  return what + purpose + " by " + commGroup.name;
}

Status NcclCommunicator::run(const Collective& collective) {
  op = collective.op;
  switch (collective.kind) {
  case Collective::Kind::allReduce:
    return allReduce(collective);
  case Collective::Kind::allGather:
    return allGather(collective);
  case Collective::Kind::reduceScatter:
    return reduceScatter(collective);
  case Collective::Kind::allToAll:
    return allToAll(collective);
  case Collective::Kind::shift:
    break;
  }
  assert(false && "a shift begins and ends apart");
  return Status::error("unknown collective");
}

Expected<int> NcclCommunicator::begin(const Collective& collective) {
  op = collective.op;
  switch (collective.kind) {
  case Collective::Kind::allGather:
    return beginAllGather(collective);
  case Collective::Kind::reduceScatter:
    return beginExchange(collective);
  case Collective::Kind::shift:
    return beginShift(collective);
  case Collective::Kind::allReduce:
  case Collective::Kind::allToAll:
    break;
  }
  assert(false && "a collective without two halves");
  return Status::error("unknown collective");
}

Status NcclCommunicator::allReduce(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  return collect("all-reduce", collective.group,
                 [&](const CommGroup& commGroup) -> Status {
                   if (commGroup.ranks == 1)
                     return copy(commGroup, in.data, out.data, in.bytes());
                   NCCL_TRY(commGroup, AllReduce, in.data, out.data,
                            size_t(in.elements()), ncclType(in.type),
                            collective.reduction == Reduction::sum ? ncclSum
                                                                   : ncclMax,
                            commGroup.comm, commGroup.stream);
                   return Status::ok();
                 });
}

// ---- all-gather

Status NcclCommunicator::allGather(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  if (const CommGroup* commGroup = barrier(collective.group, {&in, &out});
      commGroup && partsOf(in, collective.dim, *commGroup).contiguous())
    return gatherByKernels(*commGroup, in, out);
  return collect(
      "all-gather", collective.group,
      [&](const CommGroup& commGroup) -> Status {
        assert(in.bytes() * commGroup.ranks == out.bytes() &&
               in.type == out.type);
        if (commGroup.ranks == 1)
          return copy(commGroup, in.data, out.data, in.bytes());
        const Blocks blocks = partsOf(in, collective.dim, commGroup);
        const bool isOverlapping = overlap(in, out);
        if (blocks.contiguous()) {
          std::byte* own = writableBytes(out) + commGroup.rank * in.bytes();
          if (isOverlapping)
            RECIPERUN_TRY(copy(commGroup, in.data, own, in.bytes()));
          NCCL_TRY(commGroup, AllGather, isOverlapping ? own : in.data,
                   out.data, size_t(in.elements()), ncclType(in.type),
                   commGroup.comm, commGroup.stream);
          return Status::ok();
        }
        return blocks.rows <= fewRows && !isOverlapping
                   ? gatherRows(commGroup, blocks, in, out)
                   : gatherPieces(commGroup, blocks, in, out);
      });
}

Status NcclCommunicator::gatherRows(const CommGroup& commGroup,
                                    const Blocks& blocks, const Tensor& in,
                                    const Tensor& out) {
  const int64_t bytes = blocks.block * blocks.elementBytes;
  NCCL_TRY(commGroup, GroupStart);
  for (int64_t row = 0; row < blocks.rows; ++row)
    NCCL_TRY(commGroup, AllGather, bytesOf(in) + row * bytes,
             writableBytes(out) + row * commGroup.ranks * bytes,
             size_t(blocks.block), ncclType(in.type), commGroup.comm,
             commGroup.stream);
  NCCL_TRY(commGroup, GroupEnd);
  return Status::ok();
}

Status NcclCommunicator::gatherPieces(const CommGroup& commGroup,
                                      const Blocks& blocks, const Tensor& in,
                                      const Tensor& out) {
  const int64_t most = pieceElements(commGroup, blocks.elementBytes);
  for (int64_t end = blocks.shardElements(); end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - most);
    NCCL_TRY(commGroup, AllGather, bytesOf(in) + begin * blocks.elementBytes,
             receiveBuffer, size_t(end - begin), ncclType(in.type),
             commGroup.comm, commGroup.stream);
    RECIPERUN_TRY(unpackShards(blocks, receiveBuffer, begin, end,
                               writableBytes(out), commGroup.stream));
    end = begin;
  }
  return Status::ok();
}

// ---- reduce-scatter

Status NcclCommunicator::reduceScatter(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  if (const CommGroup* commGroup = barrier(collective.group, {&in, &out});
      commGroup && partsOf(out, collective.dim, *commGroup).contiguous())
    return scatterByKernels(*commGroup, in, out);
  return collect("reduce-scatter", collective.group,
                 [&](const CommGroup& commGroup) -> Status {
                   assert(out.bytes() * commGroup.ranks == in.bytes() &&
                          in.type == out.type);
                   if (commGroup.ranks == 1)
                     return copy(commGroup, in.data, out.data, in.bytes());
                   const Blocks blocks =
                       partsOf(out, collective.dim, commGroup);
                   if (blocks.contiguous())
                     return scatterContiguous(commGroup, in, out);
                   return blocks.rows <= fewRows && !overlap(in, out)
                              ? scatterRows(commGroup, blocks, in, out)
                              : scatterPieces(commGroup, blocks, in, out);
                 });
}

/// A sum may take the place of this rank's own part of what is summed, and of
/// nothing else of it.
Status NcclCommunicator::scatterContiguous(const CommGroup& commGroup,
                                           const Tensor& in,
                                           const Tensor& out) {
  std::byte* own = writableBytes(in) + commGroup.rank * out.bytes();
  std::byte* target = overlap(in, out) ? own : writableBytes(out);
  NCCL_TRY(commGroup, ReduceScatter, in.data, target, size_t(out.elements()),
           ncclType(in.type), ncclSum, commGroup.comm, commGroup.stream);
  return copy(commGroup, target, out.data, out.bytes());
}

Status NcclCommunicator::scatterRows(const CommGroup& commGroup,
                                     const Blocks& blocks, const Tensor& in,
                                     const Tensor& out) {
  const int64_t bytes = blocks.block * blocks.elementBytes;
  NCCL_TRY(commGroup, GroupStart);
  for (int64_t row = 0; row < blocks.rows; ++row)
    NCCL_TRY(commGroup, ReduceScatter,
             bytesOf(in) + row * commGroup.ranks * bytes,
             writableBytes(out) + row * bytes, size_t(blocks.block),
             ncclType(in.type), ncclSum, commGroup.comm, commGroup.stream);
  NCCL_TRY(commGroup, GroupEnd);
  return Status::ok();
}

Status NcclCommunicator::scatterPieces(const CommGroup& commGroup,
                                       const Blocks& blocks, const Tensor& in,
                                       const Tensor& out) {
  const int64_t most = pieceElements(commGroup, blocks.elementBytes);
  const int64_t elements = blocks.shardElements();
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t end = std::min(begin + most, elements);
    RECIPERUN_TRY(packShards(blocks, bytesOf(in), begin, end, sendBuffer,
                             commGroup.stream));
    NCCL_TRY(commGroup, ReduceScatter, sendBuffer,
             writableBytes(out) + begin * blocks.elementBytes,
             size_t(end - begin), ncclType(in.type), ncclSum, commGroup.comm,
             commGroup.stream);
  }
  return Status::ok();
}

// ---- all-to-all

Status NcclCommunicator::allToAll(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  if (const CommGroup* commGroup = barrier(collective.group, {&out});
      commGroup && areRuns(in, collective.exchange, *commGroup))
    return exchangeByKernels(*commGroup, in, collective.counts, out);
  return collect(
      "all-to-all", collective.group,
      [&](const CommGroup& commGroup) -> Status {
        assert(in.bytes() == out.bytes() && in.type == out.type);
        if (commGroup.ranks == 1)
          return copy(commGroup, in.data, out.data, in.bytes());
        const int64_t size = plan::byteSize(in.type);
        const ShardExchange::Ends ends =
            collective.exchange.endsOf(in.shape, commGroup.ranks, size);
        if (ends.contiguous())
          return exchangeParts(commGroup, bytesOf(in), writableBytes(out),
                               in.bytes() / commGroup.ranks);
        const int64_t most = pieceElements(commGroup, size);
        const int64_t elements = ends.from.shardElements();
        for (int64_t begin = 0; begin < elements; begin += most) {
          const int64_t end = std::min(begin + most, elements);
          RECIPERUN_TRY(packShards(ends.from, bytesOf(in), begin, end,
                                   sendBuffer, commGroup.stream));
          RECIPERUN_TRY(exchangeParts(commGroup, sendBuffer, receiveBuffer,
                                      (end - begin) * size));
          RECIPERUN_TRY(unpackShards(ends.to, receiveBuffer, begin, end,
                                     writableBytes(out), commGroup.stream));
        }
        return Status::ok();
      });
}

/// Sends so many bytes to each rank of the group and receives as many.
Status NcclCommunicator::exchangeParts(const CommGroup& commGroup,
                                       const std::byte* in, std::byte* out,
                                       int64_t bytes) {
  NCCL_TRY(commGroup, GroupStart);
  for (int peer = 0; peer < commGroup.ranks; ++peer) {
    NCCL_TRY(commGroup, Send, in + peer * bytes, size_t(bytes), ncclInt8, peer,
             commGroup.comm, commGroup.stream);
    NCCL_TRY(commGroup, Recv, out + peer * bytes, size_t(bytes), ncclInt8, peer,
             commGroup.comm, commGroup.stream);
  }
  NCCL_TRY(commGroup, GroupEnd);
  return Status::ok();
}

// ---- what runs beside kernels

Status NcclCommunicator::follow(cudaStream_t stream) {
  RECIPERUN_CUDA_TRY(cudaEventRecord, enqueued, context.stream());
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, stream, enqueued, 0);
  return Status::ok();
}

Expected<int> NcclCommunicator::keep(const char* what,
                                     const CommGroup& commGroup) {
  auto free = std::find_if(underway.begin(), underway.end(),
                           [](const Underway& each) { return each.isFree; });
  if (free == underway.end()) {
    cudaEvent_t event = nullptr;
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &event,
                       cudaEventDisableTiming);
    free = underway.insert(underway.end(), {event, true});
  }
  // That enqueues something, which is to be waited for, too. Copies have told
  // the watch by themselves.
  if (commGroup.copies < 0)
    RECIPERUN_TRY(watched(what, commGroup));
  RECIPERUN_CUDA_TRY(cudaEventRecord, free->done, commGroup.stream);
  free->isFree = false;
  return int(free - underway.begin());
}

Status NcclCommunicator::finish(int message) {
  Underway& begun = underway[size_t(message)];
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, context.stream(), begun.done, 0);
  begun.isFree = true;
  return Status::ok();
}

Expected<int> NcclCommunicator::begin(const Message& message) {
  op = message.op;
  const bool isSent = message.kind == Message::Kind::send;
  const char* const what = isSent ? "a message sent" : "a message received";
  const CommGroup& pair =
      (isSent ? sending : receiving).at({message.peer, message.link});
  const Watch::Wait wait = waitFor(what, pair);
  RECIPERUN_TRY(follow(pair.stream));
  constexpr int sender = 0, receiver = 1;
  if (isSent)
    NCCL_TRY(pair, Send, message.sent.data(), message.sent.size(), ncclInt8,
             receiver, pair.comm, pair.stream);
  else
    NCCL_TRY(pair, Recv, message.received.data(), message.received.size(),
             ncclInt8, sender, pair.comm, pair.stream);
  return keep(what, pair);
}

Expected<int> NcclCommunicator::beginAllGather(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  Expected<const CommGroup*> found = commGroup(background, collective.group);
  RECIPERUN_TRY(found);
  const CommGroup& commGroup = **found;
  const Watch::Wait wait = waitFor("all-gather", commGroup);
  RECIPERUN_TRY(follow(commGroup.stream));
  if (commGroup.ranks == 1)
    RECIPERUN_TRY(copy(commGroup, in.data, out.data, in.bytes()));
  else if (commGroup.copies >= 0)
    RECIPERUN_TRY(copyParts("all-gather", commGroup, in, 0, out, in.bytes()));
  else
    NCCL_TRY(commGroup, AllGather, in.data, out.data, size_t(in.elements()),
             ncclType(in.type), commGroup.comm, commGroup.stream);
  return keep("all-gather", commGroup);
}

Expected<int> NcclCommunicator::beginExchange(const Collective& collective) {
  const Tensor &in = collective.in, &out = collective.out;
  Expected<const CommGroup*> found = commGroup(background, collective.group);
  RECIPERUN_TRY(found);
  const CommGroup& commGroup = **found;
  const Watch::Wait wait = waitFor("reduce-scatter", commGroup);
  RECIPERUN_TRY(follow(commGroup.stream));
  if (commGroup.ranks == 1)
    RECIPERUN_TRY(copy(commGroup, in.data, out.data, in.bytes()));
  else if (const int64_t part = in.bytes() / commGroup.ranks;
           commGroup.copies >= 0)
    RECIPERUN_TRY(copyParts("reduce-scatter", commGroup, in, part, out, part));
  else
    RECIPERUN_TRY(
        exchangeParts(commGroup, bytesOf(in), writableBytes(out), part));
  return keep("reduce-scatter", commGroup);
}

/// What a rank gives itself goes first, and where ranks get different parts,
/// not at all: addTerms finds it where it is.
Status NcclCommunicator::copyParts(const char* what, const CommGroup& commGroup,
                                   const Tensor& in, int64_t stride,
                                   const Tensor& out, int64_t bytes) {
  std::byte* const part = writableBytes(out) + commGroup.rank * bytes;
  std::vector<PeerCopies::Copy> copies;
  std::vector<int> others;
  if (stride == 0)
    copies.push_back({rank(), in.data, part, bytes});
  for (int step = 1; step < commGroup.ranks; ++step) {
    const int place = (commGroup.rank + step) % commGroup.ranks;
    others.push_back(commGroup.members[size_t(place)]);
    copies.push_back(
        {others.back(), bytesOf(in) + place * stride, part, bytes});
  }
  return peers->enqueue(commGroup.copies, copies, others,
                        announced(what, commGroup), commGroup.stream);
}

Expected<int> NcclCommunicator::beginShift(const Collective& collective) {
  Expected<const CommGroup*> found = commGroup(background, collective.group);
  RECIPERUN_TRY(found);
  const CommGroup& commGroup = **found;
  const Watch::Wait wait = waitFor("a turn of a ring", commGroup);
  RECIPERUN_TRY(follow(commGroup.stream));
  if (commGroup.ranks == 1) {
    for (const Shift& shift : collective.shifts)
      RECIPERUN_TRY(
          copy(commGroup, shift.out.data, shift.in.data, shift.in.bytes()));
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
    RECIPERUN_TRY(peers->enqueue(commGroup.copies, copies, senders,
                                 announced("a turn of a ring", commGroup),
                                 commGroup.stream));
    return keep("a turn of a ring", commGroup);
  }
  NCCL_TRY(commGroup, GroupStart);
  for (const Shift& shift : collective.shifts) {
    NCCL_TRY(commGroup, Send, shift.out.data, size_t(shift.out.bytes()),
             ncclInt8, next, commGroup.comm, commGroup.stream);
    NCCL_TRY(commGroup, Recv, shift.in.data, size_t(shift.in.bytes()), ncclInt8,
             before, commGroup.comm, commGroup.stream);
  }
  NCCL_TRY(commGroup, GroupEnd);
  return keep("a turn of a ring", commGroup);
}

Status NcclCommunicator::addTerms(int group, const Tensor& in,
                                  const Tensor& terms, const Tensor& out) {
  Expected<const CommGroup*> found = commGroup(background, group);
  RECIPERUN_TRY(found);
  const CommGroup& commGroup = **found;
  const std::byte* const own =
      commGroup.copies < 0 ? bytesOf(terms) : bytesOf(in);
  return addTermsInOrder(terms.type,
                         {bytesOf(terms), commGroup.ranks, commGroup.rank,
                          own + commGroup.rank * out.bytes()},
                         out.elements(), writableBytes(out), context.stream());
}

Expected<std::string> NcclCommunicator::share(std::byte* memory,
                                              int64_t bytes) {
  if (peers)
    RECIPERUN_TRY(peers->share(memory, bytes));
  return whyNoPeers;
}

// ---- recordings

Status NcclCommunicator::beginsRecording() {
  return waits.beginRecording(context.stream());
}

Status NcclCommunicator::launched(int recording) {
  return waits.noteLaunch(context.stream(), recording);
}

// ---- between processes

Status NcclCommunicator::move(const Message& message) {
  return processes->move(message);
}

Status NcclCommunicator::agree(const Status& mine) {
  return processes->agree(mine);
}

Status NcclCommunicator::check() {
  for (ncclComm_t comm : comms) {
    ncclResult_t failure = ncclSuccess;
    RECIPERUN_TRY(nccl.check(nccl.CommGetAsyncError(comm, &failure),
                             "ncclCommGetAsyncError", comm));
    RECIPERUN_TRY(nccl.check(failure, "a collective of NCCL", comm));
  }
  return Status::ok();
}

} // namespace reciperun::comm
