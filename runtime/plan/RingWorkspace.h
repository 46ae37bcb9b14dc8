// What ring attention keeps beside its operands, and where in its workspace.
//
// The compiler plans the workspace, the validation checks it and the executor
// uses it; this is the one place that knows how it is laid out.

#ifndef RECIPERUN_PLAN_RINGWORKSPACE_H
#define RECIPERUN_PLAN_RINGWORKSPACE_H

#include "runtime/sizes/AttentionWorkspace.h"

namespace reciperun::plan {

/// One rank's part.
struct RingSizes {
  sizes::AttentionSizes part;
  int64_t ranks = 1;
};

/// Offsets in bytes, each a multiple of 64.
struct RingWorkspace {
  /// Of a block of keys that came from the neighbour. Block i of a ring lies in
  /// number i % 2.
  struct Block {
    int64_t k = 0, v = 0, segments = 0, places = 0;
  };
  /// Of gradients of a block, f32 or f64.
  struct Gradients {
    int64_t dk = 0, dv = 0;
  };
  int64_t sums = 0; // of the output, or of dq: f32 [queries] where T is bf16
  Block blocks[2];
  /// Of the backward: those under way in turn, and what this rank adds.
  Gradients passing[2], own;
  /// Of the backward: what kernels take for a block, cuDNN's or ours, and how
  /// much that is.
  int64_t kernels = 0, kernelBytes = 0;
  int64_t bytes = 0;

  /// Elements of the f32 buffer that the plan gives.
  int64_t elements() const { return bytes / 4; }
};

RingWorkspace ringWorkspace(const RingSizes& sizes, bool isBackward);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_RINGWORKSPACE_H
