// MPI collectives, in pieces that fit two fixed buffers.
//
// all-reduce   1. a small tensor: all ranks gather all contributions and add;
//              2. otherwise, piece by piece: rank j receives slice j of each
//                 contribution (all-to-all), adds in rank order, and the
//                 results are gathered.
// all-gather   a contiguous part takes one call; other parts are unpacked from
//              the buffer into their rows, last piece first, so that an input
//              that starts where the output does is read before it is
//              overwritten.
// reduce-scatter  slices of each rank's part are packed, exchanged and added,
//              first piece first, for the same reason.
// all-to-all   each rank's part is packed piece by piece, exchanged, and
//              unpacked next to the other ranks' parts.
// reduce       as the second form of all-reduce; the root gathers the results.
// broadcast, transfers  messages of at most 1 GiB.

#include "runtime/comm/MpiCommunicator.h"

#include "runtime/comm/GroupName.h"
#include "runtime/comm/MpiCheck.h"
#include "runtime/comm/MpiWait.h"
#include "runtime/comm/Reduce.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace reciperun::comm {
namespace {

/// The largest all-reduce, in bytes of all ranks' contributions, that is not
/// cut into slices. Below this size one call's latency costs more than its
/// traffic.
constexpr int64_t smallBytes = int64_t(64) << 10;

/// The largest message. MPI counts in int.
constexpr size_t messageBytes = size_t(1) << 30;

const std::byte* bytesOf(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.data);
}
std::byte* writableBytes(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data);
}

/// An MPI type of the same size, for elements that are moved and not added.
MPI_Datatype mpiType(plan::DType type) {
  switch (plan::byteSize(type)) {
  case 1:
    return MPI_UINT8_T;
  case 2:
    return MPI_UINT16_T;
  case 4:
    return MPI_UINT32_T;
  default:
    return MPI_UINT64_T;
  }
}

/// The element count of one call, or an error. MPI counts in int.
Expected<int> mpiCount(int64_t elements) {
  if (elements > std::numeric_limits<int>::max())
    return Status::error("a rank's part of " + std::to_string(elements) +
                         " elements is more than MPI moves in one call");
  return int(elements);
}

} // namespace

MpiCommunicator::MpiCommunicator(int rank, int ranks, Watch* watch)
    : Communicator(rank, ranks, watch), all{MPI_COMM_WORLD, rank, ranks,
                                            nameOfAll(ranks)} {}

MpiCommunicator::~MpiCommunicator() {
  const Watch::Wait wait = waitFor("the end of their groups", all);
  for (CommGroup& group : groups)
    if (group.comm != MPI_COMM_NULL)
      MPI_Comm_free(&group.comm);
}

Expected<std::unique_ptr<Communicator>>
MpiCommunicator::make(const plan::Mesh& mesh, int rank, int ranks,
                      Watch* watch) {
  if (mesh.ranks != ranks)
    return Status::error("a mesh of " + std::to_string(mesh.ranks) +
                         " ranks does not fit a job of " +
                         std::to_string(ranks));
  std::unique_ptr<MpiCommunicator> result(
      new MpiCommunicator(rank, ranks, watch));
  result->sending.reset(new (std::nothrow) std::byte[bufferBytes]);
  result->receiving.reset(new (std::nothrow) std::byte[bufferBytes]);
  if (!result->sending || !result->receiving)
    return Status::error("no memory for the buffers of the collectives");
  for (const plan::Group& group : mesh.groups)
    RECIPERUN_TRY(result->split(mesh, group));
  return std::unique_ptr<Communicator>(std::move(result));
}

/// The instances of a group are distinguished by their lowest rank.
Status MpiCommunicator::split(const plan::Mesh& mesh,
                              const plan::Group& group) {
  std::vector<int> members = plan::groupMembers(mesh, group, rank());
  int color = members.empty() ? MPI_UNDEFINED : members.front();
  CommGroup commGroup;
  commGroup.name = nameOf(group, members);
  const Watch::Wait wait = waitFor("a split into groups", all);
  RECIPERUN_TRY(meetOn(MPI_COMM_WORLD, rank()));
  RECIPERUN_TRY(
      check(MPI_Comm_split(MPI_COMM_WORLD, color, rank(), &commGroup.comm),
            "MPI_Comm_split"));
  groups.push_back(commGroup);
  if (members.empty())
    return Status::ok();
  CommGroup& kept = groups.back();
  MPI_Comm_set_errhandler(kept.comm, MPI_ERRORS_RETURN);
  RECIPERUN_TRY(check(MPI_Comm_rank(kept.comm, &kept.rank), "MPI_Comm_rank"));
  return check(MPI_Comm_size(kept.comm, &kept.ranks), "MPI_Comm_size");
}

const MpiCommunicator::CommGroup& MpiCommunicator::commGroup(int group) const {
  if (group == world)
    return all;
  assert(group >= 0 && size_t(group) < groups.size() && "no such group");
  return groups[size_t(group)];
}

Status MpiCommunicator::check(int code, const char* call) const {
  return checkMpi(code, call, rank());
}

Watch::Wait MpiCommunicator::waitFor(std::string_view what,
                                     const CommGroup& commGroup,
                                     std::string_view op) const {
  return Watch::Wait(watch(), {what, op, commGroup.name});
}

Status MpiCommunicator::run(const Collective& collective) {
  switch (collective.kind) {
  case Collective::Kind::allReduce:
    return allReduce(collective);
  case Collective::Kind::allGather:
    return allGather(collective);
  case Collective::Kind::reduceScatter:
    return reduceScatter(collective);
  case Collective::Kind::allToAll: // all rows, whatever the counts are
    return allToAll(collective);
  case Collective::Kind::broadcast:
    return broadcast(collective);
  case Collective::Kind::reduce:
    return reduce(collective);
  case Collective::Kind::transfers:
    return transfer(collective);
  case Collective::Kind::shift:
    break;
  }
  assert(false && "a shift begins and ends apart");
  return Status::error("unknown collective");
}

Expected<int> MpiCommunicator::begin(const Collective& collective) {
  switch (collective.kind) {
  case Collective::Kind::allGather:
    return beginAllGather(collective);
  case Collective::Kind::reduceScatter:
    return beginExchange(collective, "reduce-scatter");
  case Collective::Kind::allToAll:
    return beginExchange(collective, "all-to-all");
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

Status MpiCommunicator::allReduce(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  const Watch::Wait wait = waitFor("all-reduce", commGroup, collective.op);
  assert(in.bytes() == out.bytes() && in.type == out.type);
  if (commGroup.ranks == 1) {
    if (in.data != out.data)
      std::memcpy(out.data, in.data, size_t(in.bytes()));
    return Status::ok();
  }
  if (in.bytes() * commGroup.ranks <= smallBytes)
    return reduceSmall(commGroup, in.type, collective.reduction, in.elements(),
                       bytesOf(in), writableBytes(out));
  return reducePieces(commGroup, collective);
}

Status MpiCommunicator::reduceSmall(const CommGroup& commGroup,
                                    plan::DType type, Reduction reduction,
                                    int64_t elements, const std::byte* in,
                                    std::byte* out) {
  int64_t bytes = elements * plan::byteSize(type);
  RECIPERUN_TRY(gatherBytes(commGroup, in, bytes, receiving.get()));
  reduceInRankOrder(type, reduction, receiving.get(), bytes, commGroup.ranks,
                    elements, out);
  return Status::ok();
}

/// Reduces a tensor of any size, in pieces of one buffer.
Status MpiCommunicator::reducePieces(const CommGroup& commGroup,
                                     const Collective& collective) {
  const int64_t size = plan::byteSize(collective.in.type);
  const int64_t elements = collective.in.elements();
  // No slice of a piece is larger than its part of the buffer.
  const int64_t piece = bufferBytes / size / commGroup.ranks * commGroup.ranks;
  for (int64_t begin = 0; begin < elements; begin += piece)
    RECIPERUN_TRY(reducePiece(commGroup, collective, begin,
                              std::min(begin + piece, elements)));
  return Status::ok();
}

/// Reduces at most one buffer of elements, [begin, end). Rank j reduces slice
/// j. All ranks receive the slices, or for a reduce only the root.
Status MpiCommunicator::reducePiece(const CommGroup& commGroup,
                                    const Collective& collective, int64_t begin,
                                    int64_t end) {
  const int64_t size = plan::byteSize(collective.in.type);
  const int64_t elements = end - begin;
  std::vector<int> counts(size_t(commGroup.ranks)),
      starts(size_t(commGroup.ranks));
  for (int64_t j = 0; j < commGroup.ranks; ++j) {
    int64_t first = elements * j / commGroup.ranks;
    int64_t last = elements * (j + 1) / commGroup.ranks;
    counts[size_t(j)] = int((last - first) * size);
    starts[size_t(j)] = int(first * size);
  }
  int own = counts[size_t(commGroup.rank)];
  std::vector<int> received(counts.size(), own), places(counts.size());
  for (int j = 0; j < commGroup.ranks; ++j)
    places[size_t(j)] = j * own;
  const std::byte* in = bytesOf(collective.in) + begin * size;
  std::byte* out = writableBytes(collective.out) + begin * size;
  MPI_Request request = MPI_REQUEST_NULL;
  RECIPERUN_TRY(
      finishMpi(MPI_Ialltoallv(in, counts.data(), starts.data(), MPI_BYTE,
                               receiving.get(), received.data(), places.data(),
                               MPI_BYTE, commGroup.comm, &request),
                request, "MPI_Ialltoallv", rank()));
  reduceInRankOrder(collective.in.type, collective.reduction, receiving.get(),
                    own, commGroup.ranks, own / size, sending.get());
  if (collective.kind == Collective::Kind::reduce)
    return finishMpi(MPI_Igatherv(sending.get(), own, MPI_BYTE, out,
                                  counts.data(), starts.data(), MPI_BYTE,
                                  collective.root, commGroup.comm, &request),
                     request, "MPI_Igatherv", rank());
  return finishMpi(MPI_Iallgatherv(sending.get(), own, MPI_BYTE, out,
                                   counts.data(), starts.data(), MPI_BYTE,
                                   commGroup.comm, &request),
                   request, "MPI_Iallgatherv", rank());
}

Status MpiCommunicator::allGather(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  const Watch::Wait wait = waitFor("all-gather", commGroup, collective.op);
  assert(in.bytes() * commGroup.ranks == out.bytes() && in.type == out.type);
  int64_t size = plan::byteSize(in.type);
  Blocks blocks = Blocks::of(in.shape, collective.dim, commGroup.ranks, size);
  if (commGroup.ranks == 1) {
    if (in.data != out.data)
      std::memcpy(out.data, in.data, size_t(in.bytes()));
    return Status::ok();
  }
  if (blocks.contiguous() && in.bytes() <= std::numeric_limits<int>::max())
    return gatherContiguous(commGroup, in, out);
  int64_t elements = blocks.shardElements();
  int64_t piece = std::max<int64_t>(1, bufferBytes / size / commGroup.ranks);
  for (int64_t end = elements; end > 0; end -= std::min(piece, end))
    RECIPERUN_TRY(gatherPiece(commGroup, blocks,
                              std::max<int64_t>(0, end - piece), end,
                              bytesOf(in), writableBytes(out)));
  return Status::ok();
}

/// All ranks must choose the same one of MPI's two forms. The choice depends on
/// whether the buffers overlap, which is the same on all ranks.
Status MpiCommunicator::gatherContiguous(const CommGroup& commGroup,
                                         const Tensor& in, const Tensor& out) {
  const int64_t bytes = in.bytes();
  bool apart = bytesOf(in) + in.bytes() <= bytesOf(out) ||
               bytesOf(out) + out.bytes() <= bytesOf(in);
  if (!apart)
    std::memmove(writableBytes(out) + commGroup.rank * in.bytes(), in.data,
                 size_t(bytes));
  return gatherBytes(commGroup, apart ? in.data : MPI_IN_PLACE, bytes,
                     out.data);
}

Status MpiCommunicator::gatherBytes(const CommGroup& commGroup, const void* in,
                                    int64_t bytes, void* out) {
  MPI_Request request = MPI_REQUEST_NULL;
  return finishMpi(MPI_Iallgather(in, int(bytes), MPI_BYTE, out, int(bytes),
                                  MPI_BYTE, commGroup.comm, &request),
                   request, "MPI_Iallgather", rank());
}

/// Exchanges `bytes` bytes between each pair of ranks, from one buffer to the
/// other.
Status MpiCommunicator::exchangeBytes(const CommGroup& commGroup,
                                      int64_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  return finishMpi(MPI_Ialltoall(sending.get(), int(bytes), MPI_BYTE,
                                 receiving.get(), int(bytes), MPI_BYTE,
                                 commGroup.comm, &request),
                   request, "MPI_Ialltoall", rank());
}

Status MpiCommunicator::gatherPiece(const CommGroup& commGroup,
                                    const Blocks& blocks, int64_t begin,
                                    int64_t end, const std::byte* in,
                                    std::byte* out) {
  int64_t bytes = (end - begin) * blocks.elementBytes;
  RECIPERUN_TRY(gatherBytes(commGroup, in + begin * blocks.elementBytes, bytes,
                            receiving.get()));
  for (int part = 0; part < commGroup.ranks; ++part)
    blocks.unpack(receiving.get() + part * bytes, part, begin, end, out);
  return Status::ok();
}

Status MpiCommunicator::reduceScatter(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  const Watch::Wait wait = waitFor("reduce-scatter", commGroup, collective.op);
  assert(out.bytes() * commGroup.ranks == in.bytes() && in.type == out.type);
  int64_t size = plan::byteSize(in.type);
  Blocks blocks = Blocks::of(out.shape, collective.dim, commGroup.ranks, size);
  if (commGroup.ranks == 1) {
    if (in.data != out.data)
      std::memcpy(out.data, in.data, size_t(in.bytes()));
    return Status::ok();
  }
  int64_t elements = blocks.shardElements();
  int64_t piece = std::max<int64_t>(1, bufferBytes / size / commGroup.ranks);
  for (int64_t begin = 0; begin < elements; begin += piece)
    RECIPERUN_TRY(scatterPiece(commGroup, blocks, collective, begin,
                               std::min(begin + piece, elements)));
  return Status::ok();
}

Status MpiCommunicator::scatterPiece(const CommGroup& commGroup,
                                     const Blocks& blocks,
                                     const Collective& collective,
                                     int64_t begin, int64_t end) {
  int64_t bytes = (end - begin) * blocks.elementBytes;
  for (int part = 0; part < commGroup.ranks; ++part)
    blocks.pack(bytesOf(collective.in), part, begin, end,
                sending.get() + part * bytes);
  RECIPERUN_TRY(exchangeBytes(commGroup, bytes));
  reduceInRankOrder(collective.in.type, collective.reduction, receiving.get(),
                    bytes, commGroup.ranks, end - begin,
                    writableBytes(collective.out) +
                        begin * blocks.elementBytes);
  return Status::ok();
}

Status MpiCommunicator::allToAll(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  const Watch::Wait wait = waitFor("all-to-all", commGroup, collective.op);
  assert(in.bytes() == out.bytes() && in.type == out.type);
  int64_t size = plan::byteSize(in.type);
  const auto [from, to] =
      collective.exchange.endsOf(in.shape, commGroup.ranks, size);
  int64_t elements = from.shardElements();
  int64_t piece = std::max<int64_t>(1, bufferBytes / size / commGroup.ranks);
  for (int64_t begin = 0; begin < elements; begin += piece)
    RECIPERUN_TRY(exchangePiece(commGroup, from, to, begin,
                                std::min(begin + piece, elements), bytesOf(in),
                                writableBytes(out)));
  return Status::ok();
}

Status MpiCommunicator::exchangePiece(const CommGroup& commGroup,
                                      const Blocks& from, const Blocks& to,
                                      int64_t begin, int64_t end,
                                      const std::byte* in, std::byte* out) {
  int64_t bytes = (end - begin) * from.elementBytes;
  for (int part = 0; part < commGroup.ranks; ++part)
    from.pack(in, part, begin, end, sending.get() + part * bytes);
  RECIPERUN_TRY(exchangeBytes(commGroup, bytes));
  for (int part = 0; part < commGroup.ranks; ++part)
    to.unpack(receiving.get() + part * bytes, part, begin, end, out);
  return Status::ok();
}

// ---- collectives with a root, and transfers

Status MpiCommunicator::broadcast(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  const Watch::Wait wait = waitFor("broadcast", commGroup, collective.op);
  assert(in.bytes() == out.bytes() && in.type == out.type);
  const auto bytes = size_t(out.bytes());
  if (commGroup.rank == collective.root && in.data != out.data)
    std::memcpy(out.data, in.data, bytes);
  for (size_t at = 0; at < bytes; at += messageBytes) {
    const int count = int(std::min(messageBytes, bytes - at));
    MPI_Request request = MPI_REQUEST_NULL;
    RECIPERUN_TRY(
        finishMpi(MPI_Ibcast(writableBytes(out) + at, count, MPI_BYTE,
                             collective.root, commGroup.comm, &request),
                  request, "MPI_Ibcast", rank()));
  }
  return Status::ok();
}

Status MpiCommunicator::reduce(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  const Watch::Wait wait = waitFor("reduce", commGroup, collective.op);
  assert(in.bytes() == out.bytes() && in.type == out.type);
  if (commGroup.ranks > 1)
    return reducePieces(commGroup, collective);
  if (in.data != out.data)
    std::memcpy(out.data, in.data, size_t(in.bytes()));
  return Status::ok();
}

/// Both sides list the tensors of a pair of ranks in one order, so that its
/// messages need no tags.
Status MpiCommunicator::transfer(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Watch::Wait wait = waitFor("transfers", commGroup, collective.op);
  std::vector<MPI_Request> requests;
  auto split = [&](const Transfer& each, auto begin, const char* call) {
    const auto bytes = size_t(each.tensor.bytes());
    for (size_t at = 0; at < bytes; at += messageBytes)
      RECIPERUN_TRY(check(begin(writableBytes(each.tensor) + at,
                                int(std::min(messageBytes, bytes - at)),
                                &requests.emplace_back(MPI_REQUEST_NULL)),
                          call));
    return Status::ok();
  };
  for (const Transfer& each : collective.receives)
    RECIPERUN_TRY(split(
        each,
        [&](void* to, int count, MPI_Request* request) {
          return MPI_Irecv(to, count, MPI_BYTE, each.peer, 0, commGroup.comm,
                           request);
        },
        "MPI_Irecv"));
  for (const Transfer& each : collective.sends)
    RECIPERUN_TRY(split(
        each,
        [&](const void* from, int count, MPI_Request* request) {
          return MPI_Isend(from, count, MPI_BYTE, each.peer, 0, commGroup.comm,
                           request);
        },
        "MPI_Isend"));
  return finishMpi(requests, "MPI_Testall", rank());
}

Status MpiCommunicator::move(const Message& message) {
  const bool isSent = message.kind == Message::Kind::send;
  const std::string peer = "rank " + std::to_string(message.peer);
  const Watch::Wait wait(
      watch(), {isSent ? "the receipt of a message" : "a message", {}, peer});
  const size_t bytes = isSent ? message.sent.size() : message.received.size();
  MPI_Request request = MPI_REQUEST_NULL;
  for (size_t at = 0; at < bytes; at += bufferBytes) {
    const int count = int(std::min<size_t>(bufferBytes, bytes - at));
    RECIPERUN_TRY(
        isSent
            ? finishMpi(MPI_Isend(message.sent.data() + at, count, MPI_BYTE,
                                  message.peer, 0, MPI_COMM_WORLD, &request),
                        request, "MPI_Isend", rank())
            : finishMpi(MPI_Irecv(message.received.data() + at, count, MPI_BYTE,
                                  message.peer, 0, MPI_COMM_WORLD, &request),
                        request, "MPI_Irecv", rank()));
  }
  return Status::ok();
}

/// Splits a message, since MPI counts in int. Tag 0 belongs to move.
Expected<int> MpiCommunicator::begin(const Message& message) {
  const bool isSent = message.kind == Message::Kind::send;
  const int tag = 1 + message.link;
  const size_t bytes = isSent ? message.sent.size() : message.received.size();
  std::vector<MPI_Request> requests;
  for (size_t at = 0; at < bytes; at += messageBytes) {
    const int count = int(std::min(messageBytes, bytes - at));
    MPI_Request& request = requests.emplace_back(MPI_REQUEST_NULL);
    RECIPERUN_TRY(
        isSent ? check(MPI_Isend(message.sent.data() + at, count, MPI_BYTE,
                                 message.peer, tag, MPI_COMM_WORLD, &request),
                       "MPI_Isend")
               : check(MPI_Irecv(message.received.data() + at, count, MPI_BYTE,
                                 message.peer, tag, MPI_COMM_WORLD, &request),
                       "MPI_Irecv"));
  }
  return keep({std::move(requests),
               isSent ? "a message sent" : "a message received", message.op,
               isSent ? nameOfLink(rank(), message.peer, message.link)
                      : nameOfLink(message.peer, rank(), message.link)});
}

Expected<int> MpiCommunicator::beginAllGather(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  assert(in.bytes() * commGroup.ranks == out.bytes() && in.type == out.type);
  Expected<int> count = mpiCount(in.elements());
  RECIPERUN_TRY(count);
  MPI_Datatype type = mpiType(in.type);
  std::vector<MPI_Request> requests = {MPI_REQUEST_NULL};
  const bool isInPlace = in.data == static_cast<std::byte*>(out.data) +
                                        commGroup.rank * in.bytes();
  RECIPERUN_TRY(check(MPI_Iallgather(isInPlace ? MPI_IN_PLACE : in.data, *count,
                                     type, out.data, *count, type,
                                     commGroup.comm, requests.data()),
                      "MPI_Iallgather"));
  return keep(
      {std::move(requests), "all-gather", collective.op, commGroup.name});
}

Expected<int> MpiCommunicator::beginExchange(const Collective& collective,
                                             const char* what) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const Tensor &in = collective.in, &out = collective.out;
  assert(in.bytes() == out.bytes() && in.type == out.type &&
         in.elements() % commGroup.ranks == 0);
  Expected<int> count = mpiCount(in.elements() / commGroup.ranks);
  RECIPERUN_TRY(count);
  MPI_Datatype type = mpiType(in.type);
  std::vector<MPI_Request> requests = {MPI_REQUEST_NULL};
  RECIPERUN_TRY(check(MPI_Ialltoall(in.data, *count, type, out.data, *count,
                                    type, commGroup.comm, requests.data()),
                      "MPI_Ialltoall"));
  return keep({std::move(requests), what, collective.op, commGroup.name});
}

/// Both sides list the shifts in one order, so that messages of a pair need no
/// tags.
Expected<int> MpiCommunicator::beginShift(const Collective& collective) {
  const CommGroup& commGroup = this->commGroup(collective.group);
  const int next = (commGroup.rank + 1) % commGroup.ranks;
  const int before = (commGroup.rank + commGroup.ranks - 1) % commGroup.ranks;
  std::vector<MPI_Request> requests;
  for (const Shift& shift : collective.shifts) {
    assert(shift.in.bytes() == shift.out.bytes());
    const auto bytes = size_t(shift.in.bytes());
    for (size_t at = 0; at < bytes; at += messageBytes) {
      const int count = int(std::min(messageBytes, bytes - at));
      RECIPERUN_TRY(check(MPI_Irecv(writableBytes(shift.in) + at, count,
                                    MPI_BYTE, before, 0, commGroup.comm,
                                    &requests.emplace_back(MPI_REQUEST_NULL)),
                          "MPI_Irecv"));
      RECIPERUN_TRY(check(MPI_Isend(bytesOf(shift.out) + at, count, MPI_BYTE,
                                    next, 0, commGroup.comm,
                                    &requests.emplace_back(MPI_REQUEST_NULL)),
                          "MPI_Isend"));
    }
  }
  return keep(
      {std::move(requests), "a turn of a ring", collective.op, commGroup.name});
}

Status MpiCommunicator::finish(int message) {
  Underway ended = std::exchange(underway[size_t(message)], {});
  const Watch::Wait wait(watch(), {ended.what, ended.op, ended.who});
  return finishMpi(ended.requests, "MPI_Testall", rank());
}

int MpiCommunicator::keep(Underway begun) {
  auto free =
      std::find_if(underway.begin(), underway.end(),
                   [](const Underway& each) { return each.requests.empty(); });
  if (free == underway.end())
    free = underway.emplace(underway.end());
  *free = std::move(begun);
  return int(free - underway.begin());
}

Status MpiCommunicator::agree(const Status& mine) {
  return agreeOnWorld(mine, rank(), ranks(), watch());
}

} // namespace reciperun::comm
