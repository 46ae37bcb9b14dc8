// The state that a GPU rank keeps between kernels: its device, the stream of
// the plan's ops, the streams of copies to and from the host, a scratch buffer,
// and the matmul and attention libraries.
//
// Kernels run in order on one stream and share one scratch buffer, unless
// further lanes are opened: streams with a scratch of their own. The scratch is
// outside the arena and counted in the plan's `library` bytes.

#ifndef RECIPERUN_DEVICE_CUDA_CUDACONTEXT_H
#define RECIPERUN_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/device/cuda/CudaCopies.h"
#include "runtime/device/cuda/Matmuls.h"
#include "runtime/sizes/Lanes.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {

inline constexpr int64_t cudaScratchBytes = sizes::laneScratchBytes;

class CudaContext {
public:
  /// Makes `device`, an index among the visible GPUs, the calling thread's
  /// device. Fails when the device does not exist or when kernels are not built
  /// for it.
  static Expected<std::unique_ptr<CudaContext>> make(int device);

  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext();

  int device() const { return number; }
  const cudaDeviceProp& properties() const { return described; }
  int multiprocessors() const { return described.multiProcessorCount; }

  /// Lets kernels that support it start before the previous one on their stream
  /// has ended (OverlappedLaunch.cuh), on GPUs that can.
  void overlapKernels() { areOverlapped = described.major >= 9; }
  bool overlapsKernels() const { return areOverlapped; }

  /// The stream on which kernels are enqueued: that of the selected lane.
  cudaStream_t stream() const { return selected->stream; }
  CudaCopies& copies() { return hostCopies; }
  Matmuls& products() { return matmuls; }
  AttentionPlans& attentionPlans() { return attentions; }

  /// The number of elements of T that fit the scratch.
  template <class T> static constexpr int64_t scratchCapacity() {
    return cudaScratchBytes / int64_t(sizeof(T));
  }
  /// The scratch, aligned to 256 bytes; contents are undefined. It belongs to
  /// the kernels of one op.
  template <class T> T* scratch() const {
    return static_cast<T*>(selected->scratch);
  }

  /// Opens lanes until there are `count`. Lane 0 is the plan's stream.
  Status openLanes(int count);
  int lanes() const { return int(opened.size()); }
  /// Makes later work on lanes 1 to count - 1 wait for the work enqueued on
  /// lane 0.
  Status fork(int count);
  /// Makes later work on lane 0 wait for the work enqueued on lanes 1 to count
  /// - 1.
  Status join(int count);
  /// Selects the lane on which kernels are enqueued.
  void select(int lane);

  /// Waits until all enqueued work is done, and returns its failure.
  Status wait();

private:
  struct Lane {
    cudaStream_t stream = nullptr;
    void* scratch = nullptr;
    cudaEvent_t reached = nullptr; // what other lanes wait for
  };

  CudaContext() = default;
  Status open(int device);
  Status waitFor(const Lane& lane, const Lane& other);

  int number = 0;
  cudaDeviceProp described = {};
  bool areOverlapped = false;
  std::vector<Lane> opened;
  const Lane* selected = nullptr;
  CudaCopies hostCopies;
  Matmuls matmuls;
  AttentionPlans attentions;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDACONTEXT_H
