// Opens a GPU: 1. checks that it exists, 2. checks that kernels are built for
// it, 3. creates streams and scratch.
//
// Streams that fork from a captured stream and join it become branches of the
// graph.

#include "runtime/device/cuda/CudaContext.h"

#include "runtime/device/cuda/Architectures.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/NearbyCores.h"
#include "runtime/device/cuda/PackedOperands.h"

#include <string>

namespace reciperun::device {

Expected<std::unique_ptr<CudaContext>> CudaContext::make(int device) {
  std::unique_ptr<CudaContext> context(new CudaContext);
  if (Status status = context->open(device); !status.isOk())
    return status.withContext("GPU " + std::to_string(device));
  return context;
}

Status CudaContext::open(int device) {
  number = device;
  RECIPERUN_CUDA_TRY(cudaGetDeviceProperties, &described, device);
  if (!isBuiltFor(described.major, described.minor))
    return Status::error(
        std::string("`") + described.name + "` is of compute capability " +
        std::to_string(described.major) + "." +
        std::to_string(described.minor) + ", and this program is built for " +
        architectureNames() +
        ": build it with another `CMAKE_CUDA_ARCHITECTURES`");
  moveNear(described); // before the driver starts threads
  RECIPERUN_CUDA_TRY(cudaSetDevice, device);
  RECIPERUN_TRY(openLanes(1));
  return hostCopies.open();
}

Status CudaContext::openLanes(int count) {
  while (lanes() < count) {
    Lane& lane = opened.emplace_back();
    RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &lane.stream,
                       cudaStreamNonBlocking);
    RECIPERUN_CUDA_TRY(cudaMalloc, &lane.scratch, size_t(cudaScratchBytes));
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &lane.reached,
                       cudaEventDisableTiming);
  }
  select(0);
  return Status::ok();
}

void CudaContext::select(int lane) {
  selected = &opened[size_t(lane)];
  matmuls.setPlace({selected->stream, selected->scratch,
                    size_t(cudaScratchBytes - packedBytes), described.name});
}

Status CudaContext::waitFor(const Lane& lane, const Lane& other) {
  RECIPERUN_CUDA_TRY(cudaEventRecord, other.reached, other.stream);
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, lane.stream, other.reached, 0);
  return Status::ok();
}

Status CudaContext::fork(int count) {
  for (int i = 1; i < count; ++i)
    RECIPERUN_TRY(waitFor(opened[size_t(i)], opened[0]));
  return Status::ok();
}

Status CudaContext::join(int count) {
  for (int i = 1; i < count; ++i)
    RECIPERUN_TRY(waitFor(opened[0], opened[size_t(i)]));
  return Status::ok();
}

CudaContext::~CudaContext() {
  // A failed device has already released its memory, so the results are
  // ignored.
  for (const Lane& lane : opened) {
    cudaFree(lane.scratch);
    if (lane.reached)
      cudaEventDestroy(lane.reached);
    if (lane.stream)
      cudaStreamDestroy(lane.stream);
  }
}

Status CudaContext::wait() {
  RECIPERUN_CUDA_TRY(cudaStreamSynchronize, opened[0].stream);
  return Status::ok();
}

} // namespace reciperun::device
