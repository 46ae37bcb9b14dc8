// Makes the connections of the plan's table:
//
//   1. ranks learn which of them share a host, and whether the plan is for such
//      a placement;
//   2. ranks map each other's memory where the table has copies or kernels that
//      write to other GPUs. If that fails, NCCL serves their groups;
//   3. rank 0 draws an id and broadcasts it by MPI, and all ranks connect;
//   4. the communicator of all ranks is split into those of the other groups;
//   5. it is split into the pairs of ranks that exchange messages, link by
//      link, and each pair exchanges its first message.
//
// All ranks go through the same list, since each split is a collective of all
// ranks.

#include "runtime/comm/NcclConnections.h"
#include "runtime/comm/CudaPeerBarrier.h"
#include "runtime/comm/GroupName.h"
#include "runtime/comm/MpiCheck.h"
#include "runtime/comm/Placement.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

namespace reciperun::comm {
namespace {

/// NCCL retries a connection. Several thousand ranks take a minute.
constexpr std::chrono::minutes longestConnection(2);

ncclConfig_t configOf(int blocks) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (blocks != sizes::unboundedBlocks)
    config.maxCTAs = blocks;
  return config;
}

} // namespace

Expected<std::unique_ptr<NcclConnections>>
NcclConnections::make(const plan::Plan& plan, Communicator& processes,
                      device::CudaContext& context) {
  std::unique_ptr<NcclConnections> result(
      new NcclConnections(processes, context));
  RECIPERUN_TRY(result->connect(plan));
  return result;
}

void NcclConnections::disconnect() {
  for (auto comm = comms.rbegin(); comm != comms.rend(); ++comm)
    nccl.CommDestroy(*comm);
  comms.clear();
  for (cudaStream_t stream : streams)
    cudaStreamDestroy(stream);
  streams.clear();
}

Status NcclConnections::connect(const plan::Plan& plan) {
  const ConnectionTable table(plan);
  if (ranks() > 1) {
    Expected<NcclLibrary> library = NcclLibrary::open();
    // Agree here, so that no rank waits for one that lacks the library.
    RECIPERUN_TRY(processes.agree(library.status()));
    nccl = *library;
    const Expected<std::vector<int64_t>> hosts = findHosts();
    RECIPERUN_TRY(hosts);
    RECIPERUN_TRY(processes.agree(checkPlacement(table, *hosts)));
    packs = table.packs();
    connectPeers(table);
    RECIPERUN_TRY(connectWorld(table));
  }
  RECIPERUN_TRY(connectGroups(plan.mesh, table));
  return connectLinks(plan.mesh, table);
}

/// Returns, by rank, the first rank on its host.
Expected<std::vector<int64_t>> NcclConnections::findHosts() {
  Expected<MPI_Comm> host = splitHost(rank());
  RECIPERUN_TRY(host);
  int64_t first = rank();
  RECIPERUN_TRY(broadcast(std::as_writable_bytes(std::span(&first, 1)), 0,
                          *host, rank()));
  RECIPERUN_TRY(checkMpi(MPI_Comm_free(&*host), "MPI_Comm_free", rank()));
  std::vector<int64_t> hosts(static_cast<size_t>(ranks()));
  const int64_t one[] = {1}, all[] = {ranks()};
  RECIPERUN_TRY(processes.allGather(world, {&first, plan::DType::i64, one},
                                    {hosts.data(), plan::DType::i64, all}, 0));
  return hosts;
}

/// Maps the memory of the ranks that the table lets a rank read or write.
void NcclConnections::connectPeers(const ConnectionTable& table) {
  if (!std::ranges::any_of(table.groups(), mapsPeers))
    return;
  peers = std::make_unique<PeerCopies>(processes);
  whyNoPeers = peers->open(table.peersOf(rank()));
  if (whyNoPeers.empty())
    return;
  peers.reset();
  whyNoPeers = "GPUs of a host exchange data by NCCL's kernels, not by their "
               "copy engines: " +
               whyNoPeers;
}

/// The communicator of all ranks, the first of the table, serves all
/// collectives in stream order.
Status NcclConnections::connectWorld(const ConnectionTable& table) {
  if (table.groups().empty())
    return Status::error("the plan has no connections between its " +
                         std::to_string(ranks()) + " GPUs");
  const Watch::Wait wait = waitForConnection();
  ncclUniqueId id = {};
  Status drawn;
  if (rank() == 0)
    drawn = nccl.check(nccl.GetUniqueId(&id), "ncclGetUniqueId");
  RECIPERUN_TRY(processes.agree(drawn));
  RECIPERUN_TRY(broadcast(std::as_writable_bytes(std::span(&id, 1)), 0,
                          MPI_COMM_WORLD, rank()));
  ncclComm_t all = nullptr;
  ncclConfig_t config = configOf(widthOf(table, table.groups().front()));
  Status made =
      nccl.check(nccl.CommInitRankConfig(&all, ranks(), id, rank(), &config),
                 "ncclCommInitRankConfig");
  if (made.isOk())
    comms.push_back(all);
  return processes.agree(made);
}

/// Connects the groups of peer kernels last. When no peer memory is mapped, a
/// group that an NCCL connection already serves needs no connection of its own.
Status NcclConnections::connectGroups(const plan::Mesh& mesh,
                                      const ConnectionTable& table) {
  const auto connect = [&](const plan::GroupConnection& connection) -> Status {
    const bool isOfKernels =
        peers && connection.transport == plan::Transport::peerKernels;
    NcclGroups& served = connection.overlaps ? background
                         : isOfKernels       ? barriers
                                             : groups;
    if (connection.groups.empty())
      return Status::ok();
    const plan::Group& first = mesh.groups[size_t(connection.groups[0])];
    const auto members = table.membersOf(connection, rank());
    Expected<NcclGroup> made =
        connectGroup(table, connection, nameOf(first, members));
    RECIPERUN_TRY(made.status().withContext("group `" + first.name + "`"));
    for (int number : connection.groups) {
      made->name = nameOf(mesh.groups[size_t(number)], members);
      served.try_emplace(number, *made);
    }
    return Status::ok();
  };
  const auto isOfKernels = [](const plan::GroupConnection& connection) {
    return connection.transport == plan::Transport::peerKernels;
  };
  const auto isServed = [&](const plan::GroupConnection& connection) {
    return std::ranges::all_of(
        connection.groups, [&](int number) { return groups.contains(number); });
  };
  for (const plan::GroupConnection& connection : table.groups())
    if (!isOfKernels(connection))
      RECIPERUN_TRY(connect(connection));
  for (const plan::GroupConnection& connection : table.groups())
    if (isOfKernels(connection) && (peers || !isServed(connection)))
      RECIPERUN_TRY(connect(connection));
  return Status::ok();
}

Expected<NcclGroup>
NcclConnections::connectGroup(const ConnectionTable& table,
                              const plan::GroupConnection& connection,
                              const std::string& name) {
  const std::vector<int> members = table.membersOf(connection, rank());
  if (peers && connection.transport == plan::Transport::peerKernels)
    return byKernels(members);
  if (peers && connection.transport == plan::Transport::peerCopies)
    return byCopies(members);
  if (!connection.overlaps && isWorld(members))
    return whole(context.stream());
  cudaStream_t stream = context.stream();
  if (connection.overlaps) {
    if (!overlappingStream) {
      const Expected<cudaStream_t> made = newStream();
      RECIPERUN_TRY(made);
      overlappingStream = *made;
    }
    stream = overlappingStream;
  }
  return split(members, stream, name, configOf(widthOf(table, connection)));
}

/// The width of an NCCL connection. When no peer memory is mapped, it also
/// serves the collectives of peer kernels with the same ranks.
int NcclConnections::widthOf(const ConnectionTable& table,
                             const plan::GroupConnection& connection) const {
  int width = connection.width;
  for (const plan::GroupConnection& other : table.groups())
    if (!peers && other.transport == plan::Transport::peerKernels &&
        table.behind(other) == &connection)
      width = joinedWidth(width, other.width);
  return width;
}

Expected<NcclGroup>
NcclConnections::byKernels(const std::vector<int>& members) {
  NcclGroup commGroup = mapped(members, context.stream());
  Expected<PeerBarrierState*> place = nullptr;
  if (!members.empty())
    place = peers->barrierState(commGroup.copies, members);
  RECIPERUN_TRY(processes.agree(place.status()));
  commGroup.place = *place;
  return commGroup;
}

/// Gives the group its own stream, so that one group's wait does not block
/// another group.
Expected<NcclGroup> NcclConnections::byCopies(const std::vector<int>& members) {
  Expected<cudaStream_t> stream = newStream();
  RECIPERUN_TRY(stream);
  return mapped(members, *stream);
}

NcclGroup NcclConnections::mapped(const std::vector<int>& members,
                                  cudaStream_t stream) {
  NcclGroup commGroup;
  const auto own = std::find(members.begin(), members.end(), rank());
  commGroup.rank = own == members.end() ? 0 : int(own - members.begin());
  commGroup.ranks = std::max(1, int(members.size()));
  commGroup.stream = stream;
  commGroup.copies = groupsOfCopies++;
  commGroup.members = members;
  return commGroup;
}

/// The sender is the first rank of a pair.
Status NcclConnections::connectLinks(const plan::Mesh& mesh,
                                     const ConnectionTable& table) {
  const int own = plan::coordinate(mesh, rank(), "pp");
  for (const plan::LinkConnection& connection : table.links()) {
    const int link = connection.link, from = connection.from,
              to = connection.to;
    std::vector<int> pair;
    std::string name;
    if (own == from || own == to) {
      pair = {plan::rankInStage(mesh, rank(), from),
              plan::rankInStage(mesh, rank(), to)};
      name = nameOfLink(pair[0], pair[1], link);
    }
    Expected<cudaStream_t> stream = newStream(/*isMine=*/!pair.empty());
    RECIPERUN_TRY(stream);
    Expected<NcclGroup> commGroup =
        split(pair, *stream, name, configOf(connection.width));
    RECIPERUN_TRY(commGroup);
    const Status greeted = commGroup->comm ? greet(*commGroup) : Status::ok();
    RECIPERUN_TRY(processes.agree(greeted.withContext("the link of " + name)));
    if (own == from)
      sending[{pair[1], link}] = *commGroup;
    if (own == to)
      receiving[{pair[0], link}] = *commGroup;
  }
  return Status::ok();
}

Watch::Wait NcclConnections::waitForConnection() const {
  return Watch::Wait(processes.watch(),
                     {"NCCL to connect (with NCCL_DEBUG=INFO it says more)",
                      {},
                      "all ranks of the job"},
                     longestConnection);
}

/// Sends a byte over a link, or receives it.
Status NcclConnections::greet(const NcclGroup& link) {
  constexpr int sender = 0, receiver = 1;
  const Watch::Wait wait = waitForConnection();
  auto* const byte = context.scratch<std::byte>();
  RECIPERUN_TRY(link.rank == sender
                    ? nccl.check(nccl.Send(byte, 1, ncclInt8, receiver,
                                           link.comm, link.stream),
                                 "ncclSend", link.comm)
                    : nccl.check(nccl.Recv(byte, 1, ncclInt8, sender, link.comm,
                                           link.stream),
                                 "ncclRecv", link.comm));
  RECIPERUN_CUDA_TRY(cudaStreamSynchronize, link.stream);
  return Status::ok();
}

bool NcclConnections::isWorld(const std::vector<int>& members) const {
  return ranks() > 1 && int(members.size()) == ranks();
}

/// The communicator of all ranks.
NcclGroup NcclConnections::whole(cudaStream_t stream) const {
  return {comms.front(), rank(), ranks(), stream, ""};
}

/// Makes a communicator of the members, in their order. Every rank calls this
/// with the members of its own instance, or with none. Instances are
/// distinguished by their first member.
Expected<NcclGroup> NcclConnections::split(const std::vector<int>& members,
                                           cudaStream_t stream,
                                           std::string name,
                                           ncclConfig_t config) {
  NcclGroup commGroup;
  commGroup.name = std::move(name);
  commGroup.stream = stream;
  commGroup.ranks = std::max(1, int(members.size()));
  const auto own = std::find(members.begin(), members.end(), rank());
  commGroup.rank = own == members.end() ? 0 : int(own - members.begin());
  if (ranks() == 1)
    return commGroup;
  const Watch::Wait wait = waitForConnection();
  const bool isAlone = members.size() < 2;
  const int color = isAlone ? NCCL_SPLIT_NOCOLOR : members.front();
  Status made = nccl.check(nccl.CommSplit(comms.front(), color, commGroup.rank,
                                          &commGroup.comm, &config),
                           "ncclCommSplit", comms.front());
  if (commGroup.comm)
    comms.push_back(commGroup.comm);
  RECIPERUN_TRY(processes.agree(made));
  return commGroup;
}

/// A stream of the highest priority: its kernels are scheduled before other
/// kernels that wait for a multiprocessor. Collective, including ranks that
/// need no stream.
Expected<cudaStream_t> NcclConnections::newStream(bool isMine) {
  cudaStream_t stream = nullptr;
  auto make = [&]() -> Status {
    int least = 0, greatest = 0;
    RECIPERUN_CUDA_TRY(cudaDeviceGetStreamPriorityRange, &least, &greatest);
    RECIPERUN_CUDA_TRY(cudaStreamCreateWithPriority, &stream,
                       cudaStreamNonBlocking, greatest);
    streams.push_back(stream);
    return Status::ok();
  };
  RECIPERUN_TRY(processes.agree(isMine ? make() : Status::ok()));
  return stream;
}

Status NcclConnections::check() const {
  for (ncclComm_t comm : comms) {
    ncclResult_t failure = ncclSuccess;
    RECIPERUN_TRY(nccl.check(nccl.CommGetAsyncError(comm, &failure),
                             "ncclCommGetAsyncError", comm));
    RECIPERUN_TRY(nccl.check(failure, "a collective of NCCL", comm));
  }
  return Status::ok();
}

} // namespace reciperun::comm
