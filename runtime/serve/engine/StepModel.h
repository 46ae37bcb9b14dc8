// The model that an engine runs its steps on.

#ifndef RECIPERUN_SERVE_ENGINE_STEPMODEL_H
#define RECIPERUN_SERVE_ENGINE_STEPMODEL_H

#include "runtime/base/Status.h"
#include "runtime/serve/engine/StepPlan.h"

#include <cstdint>
#include <span>

namespace reciperun::serve {

class StepModel {
public:
  virtual ~StepModel() = default;
  /// The number of logits in a row.
  virtual int64_t vocab() const = 0;
  /// Computes a step. Fails when the device does.
  virtual Status run(const StepPlan& step) = 0;
  /// Reads the last step's logits from a row on, [rows, vocab].
  virtual Status readRows(int64_t first, std::span<float> out) = 0;
  /// Reads the likeliest tokens of the first rows of the last step: the lowest
  /// id with the largest logit, and -1 where a logit is not finite.
  virtual Status readLikeliest(std::span<int32_t> out) = 0;
  /// The threads of the CPU that choose tokens.
  virtual int threads() const { return 1; }
};

/// Fails when logits are not finite, since they are then no distribution.
Status checkFinite(std::span<const float> logits);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_STEPMODEL_H
