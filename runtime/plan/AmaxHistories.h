// Amax histories of tensors that are cast to fp8. `delayed` scaling chooses the
// next scale from them (ops/quantization.ops).

#ifndef RECIPERUN_PLAN_AMAXHISTORIES_H
#define RECIPERUN_PLAN_AMAXHISTORIES_H

#include "runtime/plan/Op.h"

#include <cstddef>
#include <span>
#include <vector>

namespace reciperun::plan {

struct Stage; // Plan.h

/// A tensor that an op casts to fp8: the index of its first output, and of the
/// input that is its amax history.
struct QuantizedTensor {
  size_t output;
  size_t history;
};

/// The tensors that an op of this kind casts; empty when it casts none.
std::span<const QuantizedTensor> quantizedTensors(OpKind kind);

/// The indices of the amax history buffers of a stage.
std::vector<int> amaxHistoryBuffers(const Stage& stage);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_AMAXHISTORIES_H
