// The state that a GPU rank keeps between kernels: its device, the stream of
// the plan's ops, the streams of copies to and from the host, a scratch buffer,
// and the matmul and attention libraries.
//
// Kernels run in order on one stream and share one scratch buffer. The scratch
// is outside the arena and counted in the plan's `library` bytes.

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

/// The size of the scratch in bytes: partial sums of reductions, and the
/// workspace of cuBLASLt, which suggests 32 MiB for Hopper.
inline constexpr int64_t cudaScratchBytes = int64_t(32) << 20;

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

  /// The stream on which kernels are enqueued.
  cudaStream_t stream() const { return compute; }
  CudaCopies& copies() { return hostCopies; }
  Matmuls& products() { return matmuls; }
  AttentionPlans& attentionPlans() { return attentions; }

  /// The number of elements of T that fit the scratch.
  template <class T> static constexpr int64_t scratchCapacity() {
    return cudaScratchBytes / int64_t(sizeof(T));
  }
  /// The scratch, aligned to 256 bytes; contents are undefined. It belongs to
  /// the kernels of one op.
  template <class T> T* scratch() const { return static_cast<T*>(scratchData); }

  /// Waits until all enqueued work is done, and returns its failure.
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
