// Finds ranks whose work takes longer than that of other ranks.
//
// 1. Each rank sums the times of its phases over a window of steps, without
//    communication, in which it waits for other ranks.
// 2. The ranks share the sums in the all-reduce by maximum that each step has
//    in any case: a rank fills in its own values, and zeros for the others.
// 3. A rank is compared with the median of the ranks of its pipeline stage,
//    which run the same program on as many tokens.

#ifndef RECIPERUN_TRAIN_STRAGGLERDETECTOR_H
#define RECIPERUN_TRAIN_STRAGGLERDETECTOR_H

#include "runtime/plan/Plan.h"
#include "runtime/train/metrics/RankTimes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::train {

class StragglerDetector {
public:
  /// Takes its settings from `train.straggler`, which is set, and
  /// `train.straggler_window`. `plan` outlives the object; `places` are by
  /// rank.
  StragglerDetector(const plan::Plan& plan, int rank,
                    std::vector<RankPlace> places);

  /// Adds a step of this rank.
  void add(const PhaseSeconds& seconds);
  /// Whether the window is full, which it is on all ranks at the same step.
  bool isDue() const;
  /// Adds this rank's values to those that are shared by maximum.
  void appendTo(std::vector<int64_t>& values) const;
  /// The times of all ranks from the shared values that appendTo added; begins
  /// the next window.
  RankTimes takeWindow(const int64_t* shared);

  /// The ranks that are slow since this window, and those that no longer are.
  struct Changes {
    std::vector<RankTime> slow, recovered;
  };
  Changes changesBy(const RankTimes& times);
  int64_t window() const { return plan.train.stragglerWindow; }

private:
  const plan::Plan& plan;
  const int rank;
  const std::vector<RankPlace> places;
  PhaseSeconds sums = {};
  int64_t steps = 0;
  std::vector<bool> slow; // by rank
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_STRAGGLERDETECTOR_H
