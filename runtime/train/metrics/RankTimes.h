// The time that each rank works in a step, without waiting for others.

#ifndef RECIPERUN_TRAIN_METRICS_RANKTIMES_H
#define RECIPERUN_TRAIN_METRICS_RANKTIMES_H

#include "runtime/train/metrics/StepRecord.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::train {

/// Where a rank runs.
struct RankPlace {
  std::string host;
  std::string gpu;     // its PCI address, `0000:1b:00`; empty on a CPU
  int indexOnHost = 0; // among the ranks of the host
};
/// `host node7, GPU 2 at 0000:1b:00`.
std::string textOf(const RankPlace& place);

/// The times of a rank in a window of steps.
struct RankTime {
  int rank = 0;
  RankPlace place;
  double seconds = 0; // of a step: data, forward, backward and optimizer
  /// The ranks of its pipeline stage, which run the same program, and the
  /// quotient of `seconds` and their median.
  int peers = 1;
  double ratio = 1;
  Phase phase = Phase::forward; // takes most of the time above the median
};
using RankTimes = std::vector<RankTime>; // by rank

/// `rank 3 (host node7, GPU 2 at 0000:1b:00) is 1.31x slower than the median of
/// 8 ranks over the last 50 steps, mostly in backward`.
std::string stragglerText(const RankTime& time, int64_t steps);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_RANKTIMES_H
