// Makes the NCCL communicators:
//
//   1. rank 0 draws an id and broadcasts it by MPI, and all ranks connect;
//   2. the world is split into the groups that the plan's ops name, except
//      groups of all ranks, and groups with the same ranks as an earlier one;
//   3. the same for groups whose transfers overlap with kernels;
//   4. kernels and copies that write to other GPUs of a host need no
//      communicator: before all of this, ranks map each other's memory;
//   5. the world is split into the pairs of ranks that exchange messages, link
//      by link, and each pair exchanges its first message.
//
// All ranks go through the same list, since each split is a collective of the
// world.

#include "runtime/comm/NcclConnections.h"
#include "runtime/comm/CudaPeerBarrier.h"
#include "runtime/comm/GroupName.h"
#include "runtime/comm/MpiCheck.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
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
  PlanConnections wanted = connectionsOf(plan);
  if (ranks() > 1) {
    Expected<NcclLibrary> library = NcclLibrary::open();
    // Agree here, so that no rank waits for one that lacks the library.
    RECIPERUN_TRY(processes.agree(library.status()));
    nccl = *library;
    RECIPERUN_TRY(findHosts());
    connectPeers(plan.mesh, wanted);
  }
  Expected<PlanConnections> rest = byLibrary(plan.mesh, std::move(wanted));
  RECIPERUN_TRY(processes.agree(rest.status()));
  wanted = *std::move(rest);
  packs = ranks() > 1 && wanted.packs;
  if (ranks() > 1)
    RECIPERUN_TRY(connectWorld(plan.mesh, wanted));
  RECIPERUN_TRY(connectGroups(plan.mesh, wanted));
  return connectLinks(plan.mesh, wanted);
}

/// Finds which ranks share a host. Hosts have equal numbers of consecutive
/// ranks. Otherwise all ranks use the number of the largest host.
Status NcclConnections::findHosts() {
  Expected<MPI_Comm> host = splitHost(rank());
  RECIPERUN_TRY(host);
  int64_t first = rank();
  RECIPERUN_TRY(broadcast(std::as_writable_bytes(std::span(&first, 1)), 0,
                          *host, rank()));
  RECIPERUN_TRY(checkMpi(MPI_Comm_free(&*host), "MPI_Comm_free", rank()));
  hosts.resize(size_t(ranks()));
  const int64_t one[] = {1}, all[] = {ranks()};
  RECIPERUN_TRY(processes.allGather(world, {&first, plan::DType::i64, one},
                                    {hosts.data(), plan::DType::i64, all}, 0));
  std::map<int64_t, int> counts;
  for (int64_t each : hosts)
    ranksOnHost = std::max(ranksOnHost, ++counts[each]);
  return Status::ok();
}

/// The communicator of all ranks serves all collectives in stream order.
Status NcclConnections::connectWorld(const plan::Mesh& mesh,
                                     const PlanConnections& wanted) {
  const Watch::Wait wait = waitForConnection();
  ncclUniqueId id = {};
  Status drawn;
  if (rank() == 0)
    drawn = nccl.check(nccl.GetUniqueId(&id), "ncclGetUniqueId");
  RECIPERUN_TRY(processes.agree(drawn));
  RECIPERUN_TRY(broadcast(std::as_writable_bytes(std::span(&id, 1)), 0,
                          MPI_COMM_WORLD, rank()));
  ncclComm_t all = nullptr;
  std::vector<int> members(static_cast<size_t>(ranks()));
  std::iota(members.begin(), members.end(), 0);
  const GroupUse use = usesByExtent(mesh, wanted.groups)[extentOfAll(mesh)];
  ncclConfig_t config = configOf(blocksFor(use, members, ranksOnHost));
  Status made =
      nccl.check(nccl.CommInitRankConfig(&all, ranks(), id, rank(), &config),
                 "ncclCommInitRankConfig");
  if (made.isOk())
    comms.push_back(all);
  return processes.agree(made);
}

Status NcclConnections::connectGroups(const plan::Mesh& mesh,
                                      const PlanConnections& wanted) {
  auto connect = [&](const std::map<int, GroupUse>& used, cudaStream_t stream,
                     NcclGroups& commGroups) -> Status {
    const bool isBeside = stream != context.stream();
    const std::map<Extent, GroupUse> uses = usesByExtent(mesh, used);
    std::map<Extent, NcclGroup> known;
    for (const auto& [number, own] : used) {
      const plan::Group& group = mesh.groups[size_t(number)];
      const auto members = plan::groupMembers(mesh, group, rank());
      const std::string name = nameOf(group, members);
      const Extent extent = extentOf(mesh, group);
      const int blocks = blocksFor(uses.at(extent), members, ranksOnHost);
      auto [commGroup, isNew] = known.try_emplace(extent);
      if (isNew) {
        Expected<NcclGroup> made =
            !isBeside && isWorld(members) ? whole(stream)
            : isBeside && peers && areOnOneHost(mesh, group)
                ? besideByCopies(members)
                : split(members, stream, name, configOf(blocks));
        RECIPERUN_TRY(made.status().withContext("group `" + group.name + "`"));
        commGroup->second = *made;
      }
      commGroup->second.name = name;
      commGroups.emplace(number, commGroup->second);
    }
    return Status::ok();
  };
  RECIPERUN_TRY(connect(wanted.groups, context.stream(), groups));
  if (wanted.background.empty())
    return Status::ok();
  Expected<cudaStream_t> stream = newStream();
  RECIPERUN_TRY(stream);
  return connect(wanted.background, *stream, background);
}

/// Maps the memory of ranks in groups that lie on one host, if there are any.
void NcclConnections::connectPeers(const plan::Mesh& mesh,
                                   const PlanConnections& wanted) {
  std::set<int> others;
  bool isWanted = false;
  for (const auto* list : {&wanted.background, &wanted.barriers})
    for (const auto& [number, use] : *list) {
      const plan::Group& group = mesh.groups[size_t(number)];
      if (extentOf(mesh, group).first.empty() || !areOnOneHost(mesh, group))
        continue;
      isWanted = true;
      const auto members = plan::groupMembers(mesh, group, rank());
      others.insert(members.begin(), members.end());
    }
  others.erase(rank());
  if (!isWanted)
    return;
  peers = std::make_unique<PeerCopies>(processes);
  whyNoPeers = peers->open({others.begin(), others.end()});
  if (whyNoPeers.empty())
    return;
  peers.reset();
  whyNoPeers = "GPUs of a host exchange data by NCCL's kernels, not by their "
               "copy engines: " +
               whyNoPeers;
}

/// Moves the barrier groups of one host to kernels if ranks map each other's
/// memory. Returns the remaining connections, which NCCL serves.
Expected<PlanConnections> NcclConnections::byLibrary(const plan::Mesh& mesh,
                                                     PlanConnections wanted) {
  for (const auto& [number, use] : std::exchange(wanted.barriers, {})) {
    const plan::Group& group = mesh.groups[size_t(number)];
    const auto members = plan::groupMembers(mesh, group, rank());
    const int size = plan::groupSize(mesh, group);
    if (peers && size > 1 && size <= PeerBarrierState::mostRanks &&
        areOnOneHost(mesh, group)) {
      NcclGroup& commGroup = barriers[number];
      commGroup = byCopies(members, context.stream());
      commGroup.name = nameOf(group, members);
      Expected<PeerBarrierState*> place =
          peers->barrierState(commGroup.copies, members);
      RECIPERUN_TRY(place);
      commGroup.place = *place;
    } else {
      join(wanted.groups[number], use);
    }
  }
  return wanted;
}

/// Whether every instance of the group lies on one host.
bool NcclConnections::areOnOneHost(const plan::Mesh& mesh,
                                   const plan::Group& group) const {
  for (int each = 0; each < ranks(); ++each) {
    const auto members = plan::groupMembers(mesh, group, each);
    for (int member : members)
      if (hosts[size_t(member)] != hosts[size_t(members.front())])
        return false;
  }
  return true;
}

/// Gives the group its own stream, so that a wait of one group holds up no
/// other.
Expected<NcclGroup>
NcclConnections::besideByCopies(const std::vector<int>& members) {
  Expected<cudaStream_t> stream = newStream();
  RECIPERUN_TRY(stream);
  return byCopies(members, *stream);
}

NcclGroup NcclConnections::byCopies(const std::vector<int>& members,
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
                                     const PlanConnections& wanted) {
  const int own = plan::coordinate(mesh, rank(), "pp");
  for (const auto& [link, from, to] : wanted.links) {
    std::vector<int> pair;
    std::string name;
    int blocks = sizes::unboundedBlocks;
    if (own == from || own == to) {
      pair = {plan::rankInStage(mesh, rank(), from),
              plan::rankInStage(mesh, rank(), to)};
      name = nameOfLink(pair[0], pair[1], link);
      blocks =
          sizes::blocksOfLine(hosts[size_t(pair[0])] == hosts[size_t(pair[1])]);
    }
    Expected<cudaStream_t> stream = newStream(/*isMine=*/!pair.empty());
    RECIPERUN_TRY(stream);
    Expected<NcclGroup> commGroup =
        split(pair, *stream, name, configOf(blocks));
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

/// A stream of the highest priority: its work goes before kernels that wait for
/// a multiprocessor. Collective, including ranks that need no stream.
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
