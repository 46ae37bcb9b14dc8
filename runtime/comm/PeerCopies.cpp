// See PeerCopies.h.

#include "runtime/comm/PeerCopies.h"

#include "runtime/comm/CudaPeerBarrier.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::comm {
namespace {

CUstreamBatchMemOpParams setOf(uint32_t* flag, uint32_t value) {
  CUstreamBatchMemOpParams params = {};
  params.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  params.writeValue.address = reinterpret_cast<CUdeviceptr>(flag);
  params.writeValue.value = value;
  params.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT; // after earlier work
  return params;
}

CUstreamBatchMemOpParams waitFor(uint32_t* flag) {
  CUstreamBatchMemOpParams params = {};
  params.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  params.waitValue.address = reinterpret_cast<CUdeviceptr>(flag);
  params.waitValue.value = 1;
  params.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  return params;
}

} // namespace

PeerCopies::~PeerCopies() {
  for (const Memory& memory : memories)
    for (const auto& [rank, mapped] : memory.mapped)
      cudaIpcCloseMemHandle(mapped);
  for (const auto& [rank, mapped] : peers)
    cudaIpcCloseMemHandle(mapped);
  for (PeerBarrierState* place : places)
    cudaFree(place);
  cudaFree(flags);
}

std::string PeerCopies::open(const std::vector<int>& ranks) {
  Status mine = takeFlags();
  std::vector<cudaIpcMemHandle_t> handles = exchangeHandles(flags, mine);
  for (int rank : ranks) {
    uint32_t* mapped = nullptr;
    if (mine.isOk())
      mine = map(handles[size_t(rank)], mapped);
    if (mapped)
      peers[rank] = mapped;
  }
  const Status all = processes.agree(mine);
  return all.isOk() ? "" : all.message();
}

Status PeerCopies::takeFlags() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned version = 12000;
  RECIPERUN_CUDA_TRY(cudaGetDriverEntryPointByVersion, "cuStreamBatchMemOp",
                     &function, version, cudaEnableDefault, &found);
  batch = reinterpret_cast<decltype(batch)>(function);
  void* taken = nullptr;
  RECIPERUN_CUDA_TRY(cudaMalloc, &taken, size_t(sizes::flagBytes));
  flags = static_cast<uint32_t*>(taken);
  RECIPERUN_CUDA_TRY(cudaMemset, flags, 0, size_t(sizes::flagBytes));
  RECIPERUN_CUDA_TRY(cudaDeviceSynchronize);
  return Status::ok();
}

Status PeerCopies::share(std::byte* memory, int64_t bytes) {
  Memory shared{memory, bytes};
  Status mine;
  std::vector<cudaIpcMemHandle_t> handles = exchangeHandles(memory, mine);
  for (const auto& [rank, page] : peers) {
    std::byte* mapped = nullptr;
    if (mine.isOk())
      mine = map(handles[size_t(rank)], mapped);
    if (mapped)
      shared.mapped[rank] = mapped;
  }
  memories.push_back(std::move(shared));
  return processes.agree(
      mine.withContext("the memory of GPUs that exchange data"));
}

/// Exchanges memory handles and returns them by rank. A rank whose `mine` is a
/// failure takes part too. A failure of the exchange is stored in `mine`.
std::vector<cudaIpcMemHandle_t> PeerCopies::exchangeHandles(void* memory,
                                                            Status& mine) {
  cudaIpcMemHandle_t own = {};
  if (mine.isOk())
    mine = device::cudaStatus(cudaIpcGetMemHandle(&own, memory),
                              "cudaIpcGetMemHandle");
  std::vector<cudaIpcMemHandle_t> handles(size_t(processes.ranks()));
  constexpr int64_t words = sizeof own / sizeof(int64_t);
  const int64_t one[] = {words}, all[] = {words * processes.ranks()};
  const Status gathered =
      processes.allGather(world, {&own, plan::DType::i64, one},
                          {handles.data(), plan::DType::i64, all}, 0);
  if (mine.isOk())
    mine = gathered;
  return handles;
}

template <class T>
Status PeerCopies::map(const cudaIpcMemHandle_t& handle, T*& memory) {
  void* mapped = nullptr;
  RECIPERUN_CUDA_TRY(cudaIpcOpenMemHandle, &mapped, handle,
                     cudaIpcMemLazyEnablePeerAccess);
  memory = static_cast<T*>(mapped);
  return Status::ok();
}

/// The flag in `page` that `rank` sets for the page's owner in a group.
uint32_t* PeerCopies::flag(uint32_t* page, int commGroup, int rank,
                           int kind) const {
  const int64_t number =
      (int64_t(commGroup) * processes.ranks() + rank) * flagKinds + kind;
  assert(number < sizes::flagBytes / int64_t(sizeof *page) &&
         "flags for all commGroups");
  return page + number;
}

Status PeerCopies::enqueue(int commGroup, std::span<const Copy> copies,
                           std::span<const int> senders, device::HostWord done,
                           cudaStream_t stream) {
  const int own = processes.rank();
  std::set<int> receivers;
  for (const Copy& copy : copies)
    if (copy.to != own)
      receivers.insert(copy.to);
  for (const Copy& copy : copies)
    if (copy.to == own && copy.from != copy.target)
      RECIPERUN_TRY(enqueue(copy, copy.target, stream));
  RECIPERUN_TRY(enqueue(begin(commGroup, receivers, senders), stream));
  for (const Copy& copy : copies)
    if (copy.to != own)
      RECIPERUN_TRY(
          enqueue(copy, placeOn(copy.to, copy.target, copy.bytes), stream));
  return enqueue(end(commGroup, receivers, senders, done), stream);
}

Expected<PeerBarrierState*>
PeerCopies::barrierState(int commGroup, const std::vector<int>& members) {
  static_assert(int(PeerBarrierState::flagKinds) == int(flagKinds),
                "kernels have the flags of a pair for their own purpose");
  const int own = processes.rank();
  PeerBarrierState place;
  assert(members.size() <= PeerBarrierState::mostRanks &&
         "places for all ranks");
  for (int rank : members) {
    uint32_t* const theirs = rank == own ? flags : peers.at(rank);
    place.heard[place.ranks] = flag(flags, commGroup, rank, 0);
    place.told[place.ranks] = flag(theirs, commGroup, own, 0);
    ++place.ranks;
  }
  void* taken = nullptr;
  RECIPERUN_CUDA_TRY(cudaMalloc, &taken, sizeof place);
  places.push_back(static_cast<PeerBarrierState*>(taken));
  RECIPERUN_CUDA_TRY(cudaMemcpy, taken, &place, sizeof place,
                     cudaMemcpyHostToDevice);
  RECIPERUN_CUDA_TRY(cudaDeviceSynchronize);
  return places.back();
}

PeerCopies::Operations PeerCopies::begin(int commGroup,
                                         const std::set<int>& receivers,
                                         std::span<const int> senders) const {
  const int own = processes.rank();
  Operations operations;
  for (int rank : senders)
    operations.push_back(
        setOf(flag(peers.at(rank), commGroup, own, isFree), 1));
  for (int rank : receivers) {
    uint32_t* const freed = flag(flags, commGroup, rank, isFree);
    operations.insert(operations.end(), {waitFor(freed), setOf(freed, 0)});
  }
  return operations;
}

PeerCopies::Operations PeerCopies::end(int commGroup,
                                       const std::set<int>& receivers,
                                       std::span<const int> senders,
                                       device::HostWord done) const {
  Operations operations;
  for (int rank : receivers)
    operations.push_back(setOf(
        flag(peers.at(rank), commGroup, processes.rank(), hasArrived), 1));
  for (int rank : senders) {
    uint32_t* const arrived = flag(flags, commGroup, rank, hasArrived);
    operations.insert(operations.end(), {waitFor(arrived), setOf(arrived, 0)});
  }
  if (done.place)
    operations.push_back(setOf(done.place, done.value));
  return operations;
}

Status PeerCopies::enqueue(const Copy& copy, void* target,
                           cudaStream_t stream) const {
  RECIPERUN_CUDA_TRY(cudaMemcpyAsync, target, copy.from, size_t(copy.bytes),
                     cudaMemcpyDeviceToDevice, stream);
  return Status::ok();
}

const PeerCopies::Memory* PeerCopies::find(const std::byte* place,
                                           int64_t bytes) const {
  const auto found =
      std::find_if(memories.rbegin(), memories.rend(), [&](const Memory& each) {
        return each.holds(place, bytes);
      });
  return found == memories.rend() ? nullptr : &*found;
}

bool PeerCopies::holds(const void* memory, int64_t bytes) const {
  return find(static_cast<const std::byte*>(memory), bytes);
}

std::byte* PeerCopies::placeOn(int rank, const void* memory,
                               int64_t bytes) const {
  const auto* const place = static_cast<const std::byte*>(memory);
  const Memory* const found = find(place, bytes);
  assert(found && "what ranks exchange lies in memory that they share");
  return found->mapped.at(rank) + (place - found->base);
}

Status PeerCopies::enqueue(Operations operations, cudaStream_t stream) const {
  const CUresult code =
      batch(stream, unsigned(operations.size()), operations.data(), 0);
  return code == CUDA_SUCCESS
             ? Status::ok()
             : Status::error("`cuStreamBatchMemOp` failed with code " +
                             std::to_string(int(code)));
}

} // namespace reciperun::comm
