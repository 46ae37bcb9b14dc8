// Predicts the time of a step: a replay of the functions of all stages, under
// the power limit, within the simulated schedule `train`.

#ifndef RECIPEC_COST_PREDICTION_H
#define RECIPEC_COST_PREDICTION_H

#include "compiler/cost/Replay.h"
#include "compiler/cost/Timeline.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/ops/OpKind.h"

#include <map>
#include <string>
#include <vector>

namespace recipec::cost {

/// The seconds of a step on a stage, by activity.
struct StageTime {
  /// Ops that compute or copy on the device, by op family.
  std::map<reciperun::ops::OpFamily, double> busy;
  std::map<Work, double> work; // the same, by what determines the time
  /// Communication that no kernel overlaps, by group: see FunctionRun.
  std::map<std::string, double> exposed;
  double copies = 0;  // kernels wait for copies to and from the host
  double waiting = 0; // for other stages
  double clock = 1;   // relative to the reference clock (Kernels.h)

  double communication() const;
};

struct Prediction {
  Timeline timeline; // of the schedule `train`
  std::vector<StageTime> stages;
  std::vector<std::map<std::string, FunctionRun>> runs; // by stage and function
  /// The step is predicted to take seconds * (1 - uncertainty) to seconds * (1
  /// + uncertainty).
  double uncertainty = 0;
};

/// Returns an empty prediction without a schedule `train`. `keepsIntervals`
/// keeps the times of all ops, for a trace.
Prediction predict(const std::vector<ir::Module>& stages,
                   const recipe::Recipe& recipe, bool keepsIntervals = false);

} // namespace recipec::cost

#endif // RECIPEC_COST_PREDICTION_H
