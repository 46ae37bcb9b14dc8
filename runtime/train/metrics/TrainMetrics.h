// The metrics of a run for Prometheus.
//
// The training thread stores values; a scrape creates the text from a copy of
// them on another thread. Neither waits for the other longer than such a copy
// takes. The values are of the whole job: ranks have combined them before.

#ifndef RECIPERUN_TRAIN_METRICS_TRAINMETRICS_H
#define RECIPERUN_TRAIN_METRICS_TRAINMETRICS_H

#include "runtime/plan/Plan.h"
#include "runtime/train/metrics/RankTimes.h"
#include "runtime/train/metrics/StepRecord.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace prometheus {
class Histogram;
}

namespace reciperun::train {

/// What stays constant while a run trains.
struct RunFacts {
  std::map<std::string, std::string> info; // labels of recipec_train_info
  std::string recipe;                      // label of every metric
  int64_t stepTokens = 0;                  // of a step, including padding
  int64_t checkpointSteps = 0;             // between checkpoints; 0: none
  double checkpointSeconds = 0;            // the same by time
  double startTime = 0;                    // of the process, see epochSeconds()
};

/// `hardware` is the device's name.
RunFacts factsOf(const plan::Plan& plan, const std::string& hardware);

/// Where a run begins or resumes.
struct RunPosition {
  int64_t step = 0, steps = 0; // done before, and in all
  int64_t samples = 0;         // consumed before
  int64_t restarts = 0;        // of the run, including this one
};

class TrainMetrics {
public:
  explicit TrainMetrics(RunFacts facts);
  TrainMetrics(const TrainMetrics&) = delete;
  TrainMetrics& operator=(const TrainMetrics&) = delete;
  ~TrainMetrics();

  // ---- for the training thread

  void begin(const RunPosition& position);
  /// `goodput` is that of the run up to this step.
  void take(const StepRecord& record, double goodput);
  /// Shows the loss and the gradient norm of a step that is not finite, after
  /// which the run ends.
  void takeBad(const StepRecord& record);
  void countSpike();
  void take(const RankTimes& times);
  void countStraggler();
  void take(const SavedCheckpoint& saved, double time);

  // ---- for any thread

  /// All metrics in the text format 0.0.4.
  std::string text() const;

private:
  struct State;

  State copyState() const;

  const RunFacts facts;
  const std::unique_ptr<prometheus::Histogram> stepSeconds;
  mutable std::mutex mutex;
  std::unique_ptr<State> state; // with `mutex`
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_TRAINMETRICS_H
