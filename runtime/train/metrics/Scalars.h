// The values of a step for programs that draw them.

#ifndef RECIPERUN_TRAIN_METRICS_SCALARS_H
#define RECIPERUN_TRAIN_METRICS_SCALARS_H

#include "runtime/train/metrics/StepRecord.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// A value of a step under a name, `loss` or `seconds/forward`.
struct Scalar {
  std::string name;
  double value = 0;
};

/// The values of a step, by the names of metrics.jsonl.
std::vector<Scalar> scalarsOf(const StepRecord& record);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_SCALARS_H
