// The tokens of a serving step, by sequence.
//
// A step holds new tokens of several sequences. A sequence's tokens are
// consecutive in the step and in the order of their positions; a token with
// position -1 is padding.

#ifndef RECIPERUN_KERNELS_COMMON_STEPRUNS_H
#define RECIPERUN_KERNELS_COMMON_STEPRUNS_H

#include "runtime/base/Status.h"
#include "runtime/device/Tensor.h"

#include <cstdint>
#include <vector>

namespace reciperun::kernels {

/// The tokens [begin, begin + count) of a step. They are the tokens [position,
/// position + count) of a sequence.
struct StepRun {
  int64_t begin, count;
  int64_t sequence, position;

  int64_t end() const { return begin + count; }
};

/// The runs of a step of `positions` and `sequences`, i32 [1,tokens]. The runs
/// are in the order of the step, with padding left out. Fails when a sequence
/// is not in [0, sequenceCount), or when a sequence has two runs.
Expected<std::vector<StepRun>> stepRuns(const device::Tensor& positions,
                                        const device::Tensor& sequences,
                                        int64_t sequenceCount);

/// Calls body(begin, end) for each range of padding among `tokens` tokens.
template <class Body>
void forPadding(const std::vector<StepRun>& runs, int64_t tokens, Body&& body) {
  int64_t next = 0;
  for (const StepRun& run : runs) {
    if (next < run.begin)
      body(next, run.begin);
    next = run.end();
  }
  if (next < tokens)
    body(next, tokens);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_STEPRUNS_H
