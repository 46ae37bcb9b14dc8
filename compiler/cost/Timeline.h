// When the stages of a pipeline run what, by the steps of their schedules.

#ifndef RECIPEC_COST_TIMELINE_H
#define RECIPEC_COST_TIMELINE_H

#include "compiler/ir/Ir.h"

#include <functional>
#include <string>
#include <vector>

namespace recipec::cost {

/// A run of a function, in seconds (or any unit) from the start of the step.
struct Interval {
  std::string function;
  int chunk = 0;
  int microBatch = 0;
  double begin = 0;
  double end = 0;
};

struct Timeline {
  std::vector<std::vector<Interval>> stages;
  double end = 0;
  /// Whether every stage came to the end of its schedule; false where each
  /// waits for another.
  bool isWhole = true;
};

/// A function's run may be its last one of the schedule.
using FunctionTime =
    std::function<double(int stage, const ir::Function&, bool isLast)>;
using TransferTime = std::function<double(int stage, const ir::Transfer&)>;

/// Runs the schedules `name` of all stages side by side: a stage takes its
/// steps in order and waits for what it has not received yet; what is sent
/// arrives later by the transfer's time.
Timeline simulate(const std::vector<ir::Module>& stages,
                  const std::string& name, const FunctionTime& functionTime,
                  const TransferTime& transferTime);

/// The part of the time between the first and the last pass in which a stage
/// waits, on average over the stages: (p - 1) / (m + p - 1) for `1f1b` with
/// equal stages.
double bubbleFraction(const Timeline& timeline);

} // namespace recipec::cost

#endif // RECIPEC_COST_TIMELINE_H
