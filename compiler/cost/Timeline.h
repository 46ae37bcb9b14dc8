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

/// A message that a stage waits for.
struct Blocked {
  int stage = 0;
  int transfer = 0; // of the stage
  int microBatch = 0;
};

struct Timeline {
  std::vector<std::vector<Interval>> stages;
  double end = 0;
  /// Stages of which each waits for the next and the last for the first, or for
  /// one that has ended; empty where every stage came to the end of its
  /// schedule.
  std::vector<Blocked> deadlock;
};

/// A function's run may be its last one of the schedule.
using FunctionTime =
    std::function<double(int stage, const ir::Function&, bool isLast)>;
using TransferTime = std::function<double(int stage, const ir::Transfer&)>;

/// Runs the schedules `name` of all stages side by side, by the rules that the
/// runtime keeps to with NCCL and, where messages are large, with MPI:
/// - a stage takes its steps in order; only a wait for a message blocks it, and
///   so does a send or a receive whose slot holds a message still under way;
/// - nothing is buffered: a message is under way until both sides have begun
///   it, and from then for the transfer's time. A wait for a message that the
///   stage sends blocks it as one for a message that it receives does;
/// - messages of a line follow one another.
/// Collectives of several stages are behind all messages of a schedule (in
/// `update` and `evaluate_end`), so that no message waits for them.
Timeline simulate(const std::vector<ir::Module>& stages,
                  const std::string& name, const FunctionTime& functionTime,
                  const TransferTime& transferTime);

/// The part of the time between the first and the last pass in which a stage
/// waits, on average over the stages: (p - 1) / (m + p - 1) for `1f1b` with
/// equal stages.
double bubbleFraction(const Timeline& timeline);

} // namespace recipec::cost

#endif // RECIPEC_COST_TIMELINE_H
