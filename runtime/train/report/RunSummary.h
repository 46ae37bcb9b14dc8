// The figures of a run that its page shows above the curves.

#ifndef RECIPERUN_TRAIN_REPORT_RUNSUMMARY_H
#define RECIPERUN_TRAIN_REPORT_RUNSUMMARY_H

#include "runtime/train/report/RunFolder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace reciperun::train {

/// A value of a step.
struct AtStep {
  int64_t step = 0;
  double value = 0;
};

struct RunSummary {
  int64_t steps = 0, lastStep = 0; // in the file, and the last one's number
  int64_t samples = 0;             // consumed up to the last step
  double tokens = 0;               // of the steps in the file, with padding
  std::optional<AtStep> lastLoss, bestLoss, lastValidLoss, bestValidLoss;
  double stepSeconds = 0;                     // of all steps
  std::optional<double> median, percentile95; // of a step's seconds
  std::vector<AtStep> slowest;                // seconds, the slowest first
  std::optional<double> tokensPerSecond, mfu; // means over time
  std::optional<double> peakBytes;
  PhaseSeconds phases = {}; // of all steps
  double saving = 0;        // seconds that checkpoints have blocked
  /// From the first start to the last step or event, with pauses; nullopt when
  /// the run has not recorded its times.
  std::optional<double> duration, goodput;
  int64_t restarts = 0, checkpoints = 0, spikes = 0, stragglers = 0;
};

/// `slowSteps` is the most of the slowest steps.
RunSummary summaryOf(const RunFolder& run, size_t slowSteps);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_RUNSUMMARY_H
