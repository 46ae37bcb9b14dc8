// Copies between the GPUs of a host by their copy engines. They take no
// multiprocessors from the kernels that run at the same time.
//
// A rank maps the arenas of the ranks it exchanges data with (CUDA IPC). Ranks
// of a group run the same program, so a buffer has the same offset in each
// arena, and a rank knows the target address. The streams of two ranks
// synchronise through flags in memory that both have mapped. Streams set and
// wait for flags with stream memory operations, which work in graphs too:
//
// 1. The receiver sets a flag: its buffer is free.
// 2. The sender's stream waits for that flag, resets it, and copies.
// 3. The sender sets a second flag: the data has arrived. The receiver's stream
//    waits for that flag and resets it.
//
// A rank sets a flag again only after the other rank has responded to it, so no
// signal is lost.
// Kernels that read and write the memory of all ranks use the same kind of
// flags directly (CudaPeerBarrier.h).

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

  /// Maps the flags of the ranks that this rank exchanges data with. Returns an
  /// empty text if that succeeds on all ranks, otherwise the reason, the same
  /// on all ranks. open and share are collectives of all ranks.
  std::string open(const std::vector<int>& ranks);
  /// Maps the other ranks' counterparts of `memory`. If two shared memories
  /// contain an address, the one shared last takes precedence.
  Status share(std::byte* memory, int64_t bytes);

  /// A copy to a rank. The destination is that rank's counterpart of `target`,
  /// which is an address of this rank in shared memory. A copy to the own rank
  /// runs first.
  struct Copy {
    int to = 0;
    const void* from = nullptr;
    void* target = nullptr;
    int64_t bytes = 0;
  };
  /// Enqueues copies. All ranks of the group with index `commGroup` take part,
  /// in the same order. `senders` are the ranks that copy to this one. `done`
  /// is set when all copies are complete.
  Status enqueue(int commGroup, std::span<const Copy> copies,
                 std::span<const int> senders, device::HostWord done,
                 cudaStream_t stream);

  /// The barrier state of a group that includes this rank. It lives as long as
  /// this object.
  Expected<PeerBarrierState*> barrierState(int commGroup,
                                           const std::vector<int>& members);
  /// Whether the memory was passed to share().
  bool holds(const void* memory, int64_t bytes) const;
  /// The address on another rank that corresponds to `memory` on this rank. The
  /// `bytes` bytes from it on must be shared.
  std::byte* placeOn(int rank, const void* memory, int64_t bytes) const;

private:
  /// Memory that this rank shares, and its counterparts on other ranks, by
  /// rank.
  struct Memory {
    std::byte* base = nullptr;
    int64_t bytes = 0;
    std::map<int, std::byte*> mapped = {};

    bool holds(const std::byte* place, int64_t size) const {
      return place >= base && place + size <= base + bytes;
    }
  };
  enum Flag { isFree, hasArrived, flagKinds };
  /// A stream's operations on flags, in order.
  using Operations = std::vector<CUstreamBatchMemOpParams>;

  const Memory* find(const std::byte* place, int64_t bytes) const;
  Status takeFlags();
  std::vector<cudaIpcMemHandle_t> exchangeHandles(void* memory, Status& mine);
  template <class T>
  static Status map(const cudaIpcMemHandle_t& handle, T*& memory);
  uint32_t* flag(uint32_t* page, int commGroup, int rank, int kind) const;
  /// The stream's flag operations before its copies (steps 1 and 2 above) and
  /// after them (step 3).
  Operations begin(int commGroup, const std::set<int>& receivers,
                   std::span<const int> senders) const;
  Operations end(int commGroup, const std::set<int>& receivers,
                 std::span<const int> senders, device::HostWord done) const;
  Status enqueue(const Copy& copy, void* target, cudaStream_t stream) const;
  Status enqueue(Operations operations, cudaStream_t stream) const;

  Communicator& processes;
  std::vector<Memory> memories;
  std::map<int, uint32_t*> peers; // the other ranks' flags
  uint32_t* flags = nullptr;      // by group and rank; other ranks set them
  std::vector<PeerBarrierState*> places;
  decltype(&cuStreamBatchMemOp) batch = nullptr;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_PEERCOPIES_H
