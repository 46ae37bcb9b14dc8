// Copies between memory of the host that is not pinned and buffers, which are
// the device's or pinned, ordered with the kernels of a stream.
//
// Both go by way of pinned memory, which the copy engines reach by themselves:
//   to the device:   bytes are laid into a ring of segments, from where they
//   are
//                    copied when the stream comes to it. The caller waits only
//                    where the ring is full of what has not been copied yet.
//   from the device: in pieces, of which one is copied while the host takes the
//                    one before it. The caller waits for the last.

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

  /// Takes the pinned memory.
  Status open();

  /// When it returns, `from` may change; `to` has the bytes for kernels that
  /// are enqueued afterwards.
  Status upload(cudaStream_t kernels, void* to,
                std::span<const std::byte> from);
  /// Of what `to` has when the kernels enqueued so far are done.
  Status download(cudaStream_t kernels, std::span<std::byte> to,
                  const void* from);

private:
  static constexpr size_t segmentBytes = size_t(4) << 20;
  static constexpr size_t segments = 8;

  /// Pinned bytes, and when the device is done with them.
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
