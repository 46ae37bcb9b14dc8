// Making NCCL's communicators:
//
//   1. rank 0 draws an id and tells it by MPI, and all ranks connect;
//   2. the world is split into the groups that the plan's ops name, unless one
//      is of all ranks, or of those of another group;
//   3. and into those that run beside kernels;
//   4. and into the pairs of ranks that exchange messages, channel by channel,
//      which exchange the first one.
//
// All ranks go through the same list, as each split is a collective of the
// world's. What they take of a device is in compiler/cost/Connections.cpp.

#include "runtime/comm/MpiCheck.h"
#include "runtime/comm/NcclCommunicator.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/plan/Mesh.h"

#include <mpi.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace reciperun::comm {
namespace {

using plan::OpKind;

/// Multiprocessors that a message may take: it waits there for the other side,
/// and several wait at a time while kernels compute.
constexpr int messageBlocks = 8;

/// What a plan's ops want of their groups.
struct Uses {
  std::set<int> groups;
  std::set<int> background;
  bool packs = false; // along another dimension than the first
};

bool isBackground(OpKind kind) {
  return kind == OpKind::AllGatherStart || kind == OpKind::ReduceScatterStart ||
         kind == OpKind::RingAttention || kind == OpKind::RingAttentionBackward;
}

void add(Uses& uses, const plan::Op& op) {
  if (op.group < 0)
    return;
  (isBackground(op.kind) ? uses.background : uses.groups).insert(op.group);
  uses.packs =
      uses.packs || op.kind == OpKind::AllToAll || op.integer("dim") > 0;
}

std::vector<const plan::Stage*> stagesOf(const plan::Plan& plan) {
  std::vector<const plan::Stage*> stages;
  for (const plan::Stage& stage : plan.stages)
    stages.push_back(&stage);
  if (stages.empty())
    stages.push_back(&plan);
  return stages;
}

/// Of all stages: a split takes part of every rank.
Uses usesOf(const plan::Plan& plan) {
  Uses uses;
  for (const plan::Stage* stage : stagesOf(plan)) {
    for (const plan::Function& function : stage->functions)
      for (const plan::Op& op : function.ops)
        add(uses, op);
    // Gradients that are dumped are gathered among those that share a region.
    for (const plan::Region& region : stage->regions)
      if (int group = plan::groupIndex(plan.mesh, region.shardAxis); group >= 0)
        uses.groups.insert(group);
  }
  return uses;
}

/// The axes of more than one rank, and the stages, that a group spans: groups
/// of one extent have the same members.
using Extent = std::pair<std::vector<std::string>, std::vector<int>>;

Extent extentOf(const plan::Mesh& mesh, const plan::Group& group) {
  Extent extent{{}, group.stages};
  for (const std::string& axis : group.axes)
    if (plan::axisSize(mesh, axis) > 1)
      extent.first.push_back(axis);
  return extent;
}

/// ``group `tp` of ranks 0, 2``.
std::string nameOf(const plan::Group& group, const std::vector<int>& members) {
  std::string text = "group `" + group.name + "` of ranks ";
  for (size_t i = 0; i < members.size(); ++i)
    text += (i ? ", " : "") + std::to_string(members[i]);
  return text;
}

/// A channel from a stage to another.
using Channel = std::tuple<int, int, int>; // channel, from, to

std::set<Channel> channelsOf(const plan::Plan& plan) {
  std::set<Channel> channels;
  const std::vector<const plan::Stage*> stages = stagesOf(plan);
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (const plan::Transfer& transfer : stages[stage]->transfers)
      if (transfer.kind == plan::Transfer::Kind::send)
        channels.emplace(transfer.channel, int(stage), transfer.peer);
  return channels;
}

} // namespace

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> host,
                                   device::CudaContext& context)
    : processes(std::move(host)), context(context) {}

NcclCommunicator::~NcclCommunicator() {
  for (auto comm = comms.rbegin(); comm != comms.rend(); ++comm)
    nccl.CommDestroy(*comm);
  for (const Message& message : messages)
    cudaEventDestroy(message.done);
  for (cudaStream_t stream : streams)
    cudaStreamDestroy(stream);
  if (enqueued)
    cudaEventDestroy(enqueued);
  cudaFree(sendBuffer);
  cudaFree(receiveBuffer);
}

Expected<std::unique_ptr<Communicator>>
NcclCommunicator::make(const plan::Plan& plan,
                       std::unique_ptr<Communicator> host,
                       device::CudaContext& context) {
  std::unique_ptr<NcclCommunicator> result(
      new NcclCommunicator(std::move(host), context));
  RECIPERUN_TRY(result->connect(plan));
  return std::unique_ptr<Communicator>(std::move(result));
}

Status NcclCommunicator::connect(const plan::Plan& plan) {
  RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &enqueued,
                     cudaEventDisableTiming);
  if (ranks() > 1) {
    Expected<NcclLibrary> library = NcclLibrary::open();
    // Nobody waits for a rank that lacks the library.
    RECIPERUN_TRY(processes->agree(library.status()));
    nccl = *library;
    RECIPERUN_TRY(connectWorld());
  }
  RECIPERUN_TRY(connectGroups(plan));
  RECIPERUN_TRY(connectChannels(plan));
  if (ranks() > 1)
    RECIPERUN_TRY(
        watch.start(rank(), context.device(), NcclWatch::limitOfEnvironment()));
  return ranks() > 1 && usesOf(plan).packs ? takeBuffers() : Status::ok();
}

Status NcclCommunicator::connectWorld() {
  ncclUniqueId id = {};
  Status drawn;
  if (rank() == 0)
    drawn = nccl.check(nccl.GetUniqueId(&id), "ncclGetUniqueId");
  RECIPERUN_TRY(processes->agree(drawn));
  RECIPERUN_TRY(
      checkMpi(MPI_Bcast(&id, int(sizeof id), MPI_BYTE, 0, MPI_COMM_WORLD),
               "MPI_Bcast", rank()));
  ncclComm_t all = nullptr;
  Status made = nccl.check(nccl.CommInitRank(&all, ranks(), id, rank()),
                           "ncclCommInitRank");
  if (made)
    comms.push_back(all);
  return processes->agree(made);
}

Status NcclCommunicator::connectGroups(const plan::Plan& plan) {
  const Uses uses = usesOf(plan);
  auto connect = [&](const std::set<int>& numbers, cudaStream_t stream,
                     std::map<int, Circle>& circles) -> Status {
    std::map<Extent, Circle> known;
    for (int number : numbers) {
      const plan::Group& group = plan.mesh.groups[size_t(number)];
      const auto members = plan::groupMembers(plan.mesh, group, rank());
      const std::string name = nameOf(group, members);
      auto [circle, isNew] = known.try_emplace(extentOf(plan.mesh, group));
      if (isNew) {
        Expected<Circle> made = stream == context.stream() && isWorld(members)
                                    ? whole(stream)
                                    : split(members, stream, name);
        RECIPERUN_TRY(made.status().withContext("group `" + group.name + "`"));
        circle->second = *made;
      }
      circle->second.name = name;
      circles.emplace(number, circle->second);
    }
    return Status::ok();
  };
  RECIPERUN_TRY(connect(uses.groups, context.stream(), groups));
  if (uses.background.empty())
    return Status::ok();
  Expected<cudaStream_t> stream = newStream();
  RECIPERUN_TRY(stream);
  return connect(uses.background, *stream, background);
}

/// Of a pair the sender is the first.
Status NcclCommunicator::connectChannels(const plan::Plan& plan) {
  const int own = plan::coordinate(plan.mesh, rank(), "pp");
  ncclConfig_t few = NCCL_CONFIG_INITIALIZER;
  few.maxCTAs = messageBlocks;
  for (const auto& [channel, from, to] : channelsOf(plan)) {
    std::vector<int> pair;
    if (own == from || own == to)
      pair = {plan::rankInStage(plan.mesh, rank(), from),
              plan::rankInStage(plan.mesh, rank(), to)};
    cudaStream_t stream = nullptr;
    std::string name;
    if (!pair.empty()) {
      Expected<cudaStream_t> made = newStream();
      RECIPERUN_TRY(made);
      stream = *made;
      name = "rank " + std::to_string(pair[0]) + " to rank " +
             std::to_string(pair[1]) + " on channel " + std::to_string(channel);
    }
    Expected<Circle> circle = split(pair, stream, name, &few);
    RECIPERUN_TRY(circle);
    if (circle->comm)
      RECIPERUN_TRY(greet(*circle).withContext("the channel of " + name));
    if (own == from)
      sending[{pair[1], channel}] = *circle;
    if (own == to)
      receiving[{pair[0], channel}] = *circle;
  }
  return Status::ok();
}

/// Sends a byte over a link, or receives it.
Status NcclCommunicator::greet(const Circle& link) {
  constexpr int sender = 0, receiver = 1;
  void* byte = nullptr;
  RECIPERUN_CUDA_TRY(cudaMalloc, &byte, 1);
  Status said = link.rank == sender
                    ? nccl.check(nccl.Send(byte, 1, ncclInt8, receiver,
                                           link.comm, link.stream),
                                 "ncclSend", link.comm)
                    : nccl.check(nccl.Recv(byte, 1, ncclInt8, sender, link.comm,
                                           link.stream),
                                 "ncclRecv", link.comm);
  if (said)
    said = device::cudaStatus(cudaStreamSynchronize(link.stream),
                              "cudaStreamSynchronize");
  cudaFree(byte);
  return said;
}

Status NcclCommunicator::takeBuffers() {
  RECIPERUN_CUDA_TRY(cudaMalloc, &sendBuffer, size_t(bufferBytes));
  RECIPERUN_CUDA_TRY(cudaMalloc, &receiveBuffer, size_t(bufferBytes));
  return Status::ok();
}

bool NcclCommunicator::isWorld(const std::vector<int>& members) const {
  return ranks() > 1 && int(members.size()) == ranks();
}

/// The communicator of all ranks.
NcclCommunicator::Circle NcclCommunicator::whole(cudaStream_t stream) const {
  return {comms.front(), rank(), ranks(), stream, ""};
}

/// A communicator of the members, in their order; every rank calls this, with
/// the members of its own, or none. Instances are told apart by their first.
Expected<NcclCommunicator::Circle>
NcclCommunicator::split(const std::vector<int>& members, cudaStream_t stream,
                        std::string name, ncclConfig_t* config) {
  Circle circle;
  circle.name = std::move(name);
  circle.stream = stream;
  circle.ranks = std::max(1, int(members.size()));
  const auto own = std::find(members.begin(), members.end(), rank());
  circle.rank = own == members.end() ? 0 : int(own - members.begin());
  if (ranks() == 1)
    return circle;
  const bool isAlone = members.size() < 2;
  const int color = isAlone ? NCCL_SPLIT_NOCOLOR : members.front();
  Status made = nccl.check(
      nccl.CommSplit(comms.front(), color, circle.rank, &circle.comm, config),
      "ncclCommSplit", comms.front());
  if (circle.comm)
    comms.push_back(circle.comm);
  RECIPERUN_TRY(processes->agree(made));
  return circle;
}

/// What runs there goes before kernels that wait for a place on the device.
Expected<cudaStream_t> NcclCommunicator::newStream() {
  int least = 0, greatest = 0;
  RECIPERUN_CUDA_TRY(cudaDeviceGetStreamPriorityRange, &least, &greatest);
  cudaStream_t stream = nullptr;
  RECIPERUN_CUDA_TRY(cudaStreamCreateWithPriority, &stream,
                     cudaStreamNonBlocking, greatest);
  streams.push_back(stream);
  return stream;
}

} // namespace reciperun::comm
