// The workspace of ring attention: its buffers and their offsets.
//
// The compiler plans the workspace, the validation checks it and the executor
// uses it. This is the only place that defines its layout.

#ifndef RECIPERUN_PLAN_RINGWORKSPACE_H
#define RECIPERUN_PLAN_RINGWORKSPACE_H

#include "runtime/sizes/AttentionWorkspace.h"

namespace reciperun::plan {

/// The attention sizes of one rank's part, and the number of ranks.
struct RingSizes {
  sizes::AttentionSizes part;
  int64_t ranks = 1;
};

/// Offsets in bytes, each a multiple of 64.
struct RingWorkspace {
  /// A block of keys received from the neighbour. Block i of a ring is stored
  /// at index i % 2.
  struct Block {
    int64_t k = 0, v = 0, segments = 0, places = 0;
  };
  /// The gradients of a block, f32 or f64.
  struct Gradients {
    int64_t dk = 0, dv = 0;
  };
  int64_t sums = 0; // of the output or of dq: f32 [queries] when T is bf16
  Block blocks[2];
  /// Backward: the gradients that go round the ring, two buffers used in turn,
  /// and this rank's own terms.
  Gradients passing[2], own;
  /// Backward: the workspace of the block's kernel, cuDNN's or ours, and its
  /// size.
  int64_t kernels = 0, kernelBytes = 0;
  int64_t bytes = 0;

  /// The size of the plan's f32 buffer, in elements.
  int64_t elements() const { return bytes / 4; }
};

RingWorkspace ringWorkspace(const RingSizes& sizes, bool isBackward);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_RINGWORKSPACE_H
