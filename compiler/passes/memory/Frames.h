// The positions of frames: of what a chunk of a pipeline stage keeps of a
// micro-batch until its backward pass.

#ifndef RECIPEC_PASSES_MEMORY_FRAMES_H
#define RECIPEC_PASSES_MEMORY_FRAMES_H

#include "compiler/ir/Ir.h"

#include <cstdint>
#include <vector>

namespace recipec::passes {

/// What frames hold. Each kind has an area of its own, since their lives
/// differ: a message starts to arrive before the run that reads it.
enum class FrameKind { computed, received, onHost };
FrameKind frameKindOf(const ir::Value& value);

/// The area that the frames of a stage's chunks share.
struct FrameArea {
  /// In bytes, by chunk and micro-batch. Micro-batch m has entry m % size: what
  /// repeats is listed once.
  std::vector<std::vector<int64_t>> offsets;
  int64_t bytes = 0;
};

/// Places the frames of a kind in the order of the schedule `train`. `sizes`
/// are the bytes of a chunk's frame, 0 for a chunk that keeps nothing.
FrameArea placeFrames(const ir::Module& program, FrameKind kind,
                      const std::vector<int64_t>& sizes);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_FRAMES_H
