// Histories: the latest maxima of what is brought to 8 bits, by which `delayed`
// scaling chooses the next scale (ops/quantization.ops).

#ifndef RECIPERUN_PLAN_AMAXHISTORIES_H
#define RECIPERUN_PLAN_AMAXHISTORIES_H

#include "runtime/plan/Plan.h"

#include <cstddef>
#include <span>
#include <vector>

namespace reciperun::plan {

/// A tensor that an op brings to 8 bits: the first of its outputs, and the
/// input that is its history.
struct QuantizedTensor {
  size_t output;
  size_t history;
};

/// Those of an op of this kind; empty where it makes none.
std::span<const QuantizedTensor> quantizedTensors(OpKind kind);

/// The buffers of a stage that are histories, by number.
std::vector<int> amaxHistoryBuffers(const Stage& stage);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_AMAXHISTORIES_H
