// Records a run on rank 0: its steps in metrics.jsonl, what else happened in
// events.jsonl, and, where the recipe wants them, steps in event files of
// TensorBoard and in a folder of MLflow, and both in the metrics for
// Prometheus.

#ifndef RECIPERUN_TRAIN_METRICS_RUNRECORDER_H
#define RECIPERUN_TRAIN_METRICS_RUNRECORDER_H

#include "runtime/base/Status.h"
#include "runtime/train/metrics/MetricsFile.h"
#include "runtime/train/metrics/MlflowRun.h"
#include "runtime/train/metrics/RankTimes.h"
#include "runtime/train/metrics/RunEvents.h"
#include "runtime/train/metrics/StepRecord.h"
#include "runtime/train/metrics/TensorBoardFile.h"
#include "runtime/train/metrics/TrainMetrics.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

/// How a process begins: at the first step, or after a checkpoint.
struct RunBegin {
  int64_t step = 0, steps = 0; // done before, and in all
  int64_t samples = 0;         // consumed before
  std::string checkpoint;      // that it resumes; empty: none
  double time = 0;             // when the process started, see epochSeconds()

  bool resumes() const { return !checkpoint.empty(); }
};

/// Where a run is recorded.
struct RunFolders {
  std::filesystem::path run;
  std::filesystem::path tensorboard; // of the run's event files; empty: none
  std::filesystem::path mlflow;      // of all runs; empty: none
  /// What MLflow shows of the run beside its steps.
  std::vector<std::pair<std::string, std::string>> parameters;
};

class RunRecorder {
public:
  /// Opens the files. `served` may be null, and must outlive the object.
  static Expected<RunRecorder>
  open(const RunFolders& folders, const RunBegin& begin, TrainMetrics* served);

  /// Of the steps before that this process goes on from.
  const std::vector<double>& earlierLosses() const {
    return metrics.keptLosses();
  }
  /// A warning about damaged lines; see MetricsFile.
  const std::string& note() const { return metrics.note(); }

  /// These fail when an earlier line could not be written.
  Status take(const StepRecord& record);
  Status take(const SavedCheckpoint& saved);
  Status takeSpike(const StepRecord& record, double usual);
  /// `text` describes the straggler.
  Status takeStraggler(const StepRecord& record, const RankTime& time,
                       const std::string& text);
  Status takeSpotNotice(const StepRecord& record, const std::string& text);
  /// Takes the times of all ranks in a window of steps.
  void take(const RankTimes& times);
  /// `reason` is `complete`, `signal` or `failure`.
  Status takeEnd(int64_t step, const std::string& reason,
                 const std::string& message);
  /// Takes a step that is not finite, and so is not written.
  void takeBad(const StepRecord& record);

  /// Waits until the files contain all lines.
  Status wait();

private:
  RunRecorder(MetricsFile metrics, RunEventsFile events, TrainMetrics* served)
      : metrics(std::move(metrics)), events(std::move(events)), served(served) {
  }
  Status begin(const RunBegin& begin);
  Status openForOthers(const RunFolders& folders, const RunBegin& begin);

  MetricsFile metrics;
  RunEventsFile events;
  std::optional<TensorBoardFile> tensorboard;
  std::optional<MlflowRun> mlflow;
  TrainMetrics* served;  // or null
  double firstStart = 0; // of the run
  double productive = 0; // seconds of the steps in metrics.jsonl
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_RUNRECORDER_H
