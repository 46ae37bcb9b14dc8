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
  /// Reads a row of the last step's logits, [vocab].
  virtual Status readRow(int64_t row, std::span<float> out) = 0;
};

/// Fails when logits are not finite, since they are then no distribution.
Status checkFinite(std::span<const float> logits);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_STEPMODEL_H
