// Simulates when each pipeline stage runs which function, from the schedules.

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

/// A message that blocks a stage.
struct Blocked {
  int stage = 0;
  int transfer = 0; // index into the stage's transfers
  int microBatch = 0;
};

struct Timeline {
  std::vector<std::vector<Interval>> stages;
  double end = 0;
  /// A cycle of stages that each wait for the next one, or a chain that ends at
  /// a stage whose schedule has ended. Empty when every stage reached the end
  /// of its schedule.
  std::vector<Blocked> deadlock;
};

using FunctionTime = std::function<double(int stage, const ir::Function&)>;
using TransferTime = std::function<double(int stage, const ir::Transfer&)>;

/// Simulates the schedules `name` of all stages with the runtime's rules for
/// NCCL and for large MPI messages:
/// - A stage executes its steps in order. It blocks at a wait for a message,
///   and at a send or receive whose slot still holds a message in flight.
/// - Nothing is buffered: a message starts when both sides have begun it and
///   takes the transfer's time. Waiting for a send blocks like waiting for a
///   receive.
/// - Messages of a link are sequential.
/// Collectives across stages come after all messages of a schedule (in `update`
/// and `evaluate_end`), so no message waits for them.
Timeline simulate(const std::vector<ir::Module>& stages,
                  const std::string& name, const FunctionTime& functionTime,
                  const TransferTime& transferTime);

/// The fraction of the time between the first and the last pass in which a
/// stage waits, averaged over the stages: (p - 1) / (m + p - 1) for `1f1b` with
/// equal stages.
double bubbleFraction(const Timeline& timeline);

} // namespace recipec::cost

#endif // RECIPEC_COST_TIMELINE_H
