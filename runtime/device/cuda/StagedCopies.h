// Copies between unpinned host memory and buffers in device or pinned memory,
// ordered with the kernels of a stream.
//
// Both directions go through pinned memory, which the copy engines access
// directly:
//   - To the device: bytes are staged in a ring of segments and copied in
//     stream order. The caller waits only when the ring is full of pending
//     copies.
//   - From the device: one piece is copied while the host takes the previous
//     one. The caller waits for the last.

#ifndef RECIPERUN_DEVICE_CUDA_STAGEDCOPIES_H
#define RECIPERUN_DEVICE_CUDA_STAGEDCOPIES_H

#include "runtime/base/Status.h"

#include <array>
#include <cstddef>
#include <span>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class StagedCopies {
public:
  StagedCopies() = default;
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;
  ~StagedCopies();

  /// Allocates the pinned memory.
  Status open();

  /// `from` may change after the call returns. Kernels that are enqueued
  /// afterwards see the bytes in `to`.
  Status upload(cudaStream_t kernels, void* to,
                std::span<const std::byte> from);
  /// Copies the contents that `from` has after the kernels enqueued so far.
  Status download(cudaStream_t kernels, std::span<std::byte> to,
                  const void* from);

private:
  static constexpr size_t segmentBytes = size_t(4) << 20;
  static constexpr size_t segments = 8;

  /// Pinned bytes, and an event for when the device is done with them.
  struct Segment {
    std::byte* data = nullptr;
    cudaEvent_t done = nullptr;
  };

  Status take(Segment& segment);
  Status nextSegment(cudaStream_t kernels);
  Status fetch(cudaStream_t kernels, Segment& segment, const std::byte* from,
               size_t bytes);

  std::array<Segment, segments> ring;
  size_t current = 0; // the segment that is being filled
  size_t filled = 0;  // bytes of it
  std::array<Segment, 2> arrivals;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_STAGEDCOPIES_H
