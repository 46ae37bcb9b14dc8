// Places frames. A frame holds the values that a chunk of a pipeline stage
// keeps of one micro-batch until its backward pass.

#ifndef RECIPEC_PASSES_MEMORY_FRAMES_H
#define RECIPEC_PASSES_MEMORY_FRAMES_H

#include "compiler/ir/Ir.h"

#include <cstdint>
#include <vector>

namespace recipec::passes {

/// Which values a frame holds. Each kind has its own area, since the lifetimes
/// differ: a message starts to arrive before the run that reads it.
enum class FrameKind { computed, received, onHost };
FrameKind frameKindOf(const ir::Value& value);

/// The offsets of the frames of a stage's chunks in the area that they share.
struct FrameArea {
  /// By chunk and micro-batch, in bytes. Micro-batch m has entry m % size: a
  /// periodic list has only its first period.
  std::vector<std::vector<int64_t>> offsets;
  int64_t bytes = 0;
};

/// Computes the offsets of all frames of a kind for the schedule `train`.
/// `sizes` are the bytes of each chunk's frame, 0 for a chunk that keeps
/// nothing.
FrameArea placeFrames(const ir::Module& program, FrameKind kind,
                      const std::vector<int64_t>& sizes);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_FRAMES_H
