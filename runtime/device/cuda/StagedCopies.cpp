// A ring of pinned segments for uploads, and two pinned pieces for downloads.

#include "runtime/device/cuda/StagedCopies.h"

#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <cstring>

namespace reciperun::device {

Status StagedCopies::open() {
  for (Segment& segment : ring)
    RECIPERUN_TRY(take(segment));
  for (Segment& segment : arrivals)
    RECIPERUN_TRY(take(segment));
  return Status::ok();
}

Status StagedCopies::take(Segment& segment) {
  void* data = nullptr;
  RECIPERUN_CUDA_TRY(cudaHostAlloc, &data, segmentBytes, cudaHostAllocDefault);
  segment.data = static_cast<std::byte*>(data);
  RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &segment.done,
                     cudaEventDisableTiming);
  return Status::ok();
}

StagedCopies::~StagedCopies() {
  auto release = [](const Segment& segment) {
    if (segment.done)
      cudaEventDestroy(segment.done);
    cudaFreeHost(segment.data);
  };
  std::for_each(ring.begin(), ring.end(), release);
  std::for_each(arrivals.begin(), arrivals.end(), release);
}

Status StagedCopies::upload(cudaStream_t kernels, void* to,
                            std::span<const std::byte> from) {
  auto* target = static_cast<std::byte*>(to);
  while (!from.empty()) {
    if (filled == segmentBytes)
      RECIPERUN_TRY(nextSegment(kernels));
    const size_t bytes = std::min(from.size(), segmentBytes - filled);
    std::byte* staged = ring[current].data + filled;
    std::memcpy(staged, from.data(), bytes);
    RECIPERUN_CUDA_TRY(cudaMemcpyAsync, target, staged, bytes,
                       cudaMemcpyDefault, kernels);
    // The next bytes begin on a new cache line.
    filled = std::min(segmentBytes, (filled + bytes + 63) / 64 * 64);
    from = from.subspan(bytes);
    target += bytes;
  }
  return Status::ok();
}

/// Advances to the oldest segment.
Status StagedCopies::nextSegment(cudaStream_t kernels) {
  RECIPERUN_CUDA_TRY(cudaEventRecord, ring[current].done, kernels);
  current = (current + 1) % segments;
  filled = 0;
  RECIPERUN_CUDA_TRY(cudaEventSynchronize, ring[current].done);
  return Status::ok();
}

Status StagedCopies::download(cudaStream_t kernels, std::span<std::byte> to,
                              const void* from) {
  const auto* source = static_cast<const std::byte*>(from);
  std::span<std::byte> coming; // destination of the previous piece
  size_t piece = 0;
  for (size_t at = 0; at < to.size() || !coming.empty();) {
    const std::span<std::byte> next =
        to.subspan(at, std::min(segmentBytes, to.size() - at));
    if (!next.empty())
      RECIPERUN_TRY(fetch(kernels, arrivals[piece], source + at, next.size()));
    at += next.size();
    piece ^= 1;
    if (!coming.empty()) {
      RECIPERUN_CUDA_TRY(cudaEventSynchronize, arrivals[piece].done);
      std::memcpy(coming.data(), arrivals[piece].data, coming.size());
    }
    coming = next;
  }
  return Status::ok();
}

Status StagedCopies::fetch(cudaStream_t kernels, Segment& segment,
                           const std::byte* from, size_t bytes) {
  RECIPERUN_CUDA_TRY(cudaMemcpyAsync, segment.data, from, bytes,
                     cudaMemcpyDefault, kernels);
  RECIPERUN_CUDA_TRY(cudaEventRecord, segment.done, kernels);
  return Status::ok();
}

} // namespace reciperun::device
