// What a GPU rank keeps between kernels: its device, the stream that the plan's
// ops are enqueued on, the streams of copies to and from the host, a scratch
// buffer, and what the libraries of matrix products and of attention know.
//
// Kernels follow one another on one stream, so that one scratch serves all of
// them. It is outside the arena and counted in the plan's `library` bytes.

#ifndef RECIPERUN_DEVICE_CUDA_CUDACONTEXT_H
#define RECIPERUN_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/device/cuda/CudaCopies.h"
#include "runtime/device/cuda/Matmuls.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// Bytes of the scratch: sums of the pieces that reductions are cut into, and
/// the workspace of cuBLASLt, which suggests 32 MiB for Hopper.
inline constexpr int64_t cudaScratchBytes = int64_t(32) << 20;

class CudaContext {
public:
  /// Makes `device` (a number among those visible) the calling thread's. Fails
  /// where there is no such device, or one that kernels are not built for.
  static Expected<std::unique_ptr<CudaContext>> make(int device);

  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext();

  int device() const { return number; }
  const cudaDeviceProp& properties() const { return described; }
  int multiprocessors() const { return described.multiProcessorCount; }

  /// Where kernels are enqueued; they run in that order.
  cudaStream_t stream() const { return compute; }
  CudaCopies& copies() { return hostCopies; }
  Matmuls& products() { return matmuls; }
  AttentionPlans& attentionPlans() { return attentions; }

  /// How many elements of T the scratch holds.
  template <class T> static constexpr int64_t scratchCapacity() {
    return cudaScratchBytes / int64_t(sizeof(T));
  }
  /// The scratch, aligned to 256 bytes; contents are undefined. It belongs to
  /// the kernels of one op.
  template <class T> T* scratch() const { return static_cast<T*>(scratchData); }

  /// Waits until all that was enqueued is done; tells of what went wrong in it.
  Status wait();

private:
  CudaContext() = default;
  Status open(int device);

  int number = 0;
  cudaDeviceProp described = {};
  cudaStream_t compute = nullptr;
  CudaCopies hostCopies;
  void* scratchData = nullptr;
  Matmuls matmuls;
  AttentionPlans attentions;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDACONTEXT_H
