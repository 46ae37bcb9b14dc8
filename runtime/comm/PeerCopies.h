// Copies between the GPUs of a host by their copy engines, which take no
// multiprocessors from the kernels that they run beside.
//
// A rank maps the arenas of the others that it exchanges data with (CUDA IPC).
// Ranks of a group run one program, so that what they exchange lies at the same
// offset of each one's arena: a rank knows where to copy to. Streams of two
// ranks meet by flags in memory that both have mapped, which they set and wait
// for themselves (stream memory operations), in a graph, too:
//
// 1. the receiver says that its buffer is free;
// 2. the sender's stream waits for that and takes the flag back, copies,
// 3. and says that it has; the receiver's stream waits for that likewise.
//
// A flag is said again only behind the answer to it, so that none is lost.
// Kernels that read and write the memory of all use such flags by themselves
// (CudaPeerBarrier.h).

#ifndef RECIPERUN_COMM_PEERCOPIES_H
#define RECIPERUN_COMM_PEERCOPIES_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/cuda/HostWords.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace reciperun::comm {

struct PeerBarrierState;

class PeerCopies {
public:
  /// `processes` connects all ranks and outlives the object.
  explicit PeerCopies(Communicator& processes) : processes(processes) {}
  PeerCopies(const PeerCopies&) = delete;
  PeerCopies& operator=(const PeerCopies&) = delete;
  ~PeerCopies();

  /// Maps flags of the ranks that this one exchanges data with. What comes back
  /// is why some rank cannot, the same on all of them; empty where all can.
  /// Collective of all ranks, as the next one is.
  std::string open(const std::vector<int>& ranks);
  /// Maps memory of theirs that is this rank's `memory`. Of two that hold one
  /// address the last counts.
  Status share(std::byte* memory, int64_t bytes);

  /// What goes to a rank: to what is there where `target` is here, in memory
  /// that is shared. A copy to the rank itself goes first.
  struct Copy {
    int to = 0;
    const void* from = nullptr;
    void* target = nullptr;
    int64_t bytes = 0;
  };
  /// Enqueues copies, in which all ranks of a group, of that number, take part
  /// in one order. `senders` are the ranks that copy to this one. When all is
  /// done `done` is set.
  Status enqueue(int commGroup, std::span<const Copy> copies,
                 std::span<const int> senders, device::HostWord done,
                 cudaStream_t stream);

  /// Where the kernels of a group's ranks meet, this rank's among them; it
  /// lives as long as the object.
  Expected<PeerBarrierState*> barrierState(int commGroup,
                                           const std::vector<int>& members);
  /// Whether all ranks of the host share that memory.
  bool holds(const void* memory, int64_t bytes) const;
  /// What is `bytes` from `memory` on here, in another rank's memory.
  std::byte* placeOn(int rank, const void* memory, int64_t bytes) const;

private:
  /// What this rank shares, and what others do, by their ranks.
  struct Memory {
    std::byte* base = nullptr;
    int64_t bytes = 0;
    std::map<int, std::byte*> mapped = {};

    bool holds(const std::byte* place, int64_t size) const {
      return place >= base && place + size <= base + bytes;
    }
  };
  enum Flag { isFree, hasArrived, flagKinds };
  /// What a stream does with flags, in this order.
  using Operations = std::vector<CUstreamBatchMemOpParams>;

  const Memory* find(const std::byte* place, int64_t bytes) const;
  Status takeFlags();
  std::vector<cudaIpcMemHandle_t> exchangeHandles(void* memory, Status& mine);
  template <class T>
  static Status map(const cudaIpcMemHandle_t& handle, T*& memory);
  uint32_t* flag(uint32_t* page, int commGroup, int rank, int kind) const;
  /// What a stream does for flags before its copies, and behind them: see
  /// above.
  Operations begin(int commGroup, const std::set<int>& receivers,
                   std::span<const int> senders) const;
  Operations end(int commGroup, const std::set<int>& receivers,
                 std::span<const int> senders, device::HostWord done) const;
  Status enqueue(const Copy& copy, void* target, cudaStream_t stream) const;
  Status enqueue(Operations operations, cudaStream_t stream) const;

  Communicator& processes;
  std::vector<Memory> memories;
  std::map<int, uint32_t*> peers; // their flags, by rank
  uint32_t* flags = nullptr;      // by group and rank, which others set
  std::vector<PeerBarrierState*> places;
  decltype(&cuStreamBatchMemOp) batch = nullptr;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_PEERCOPIES_H
