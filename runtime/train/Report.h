// Reports the progress of a run: metrics.jsonl, and lines or a progress bar on
// stdout.
//
// Only rank 0 reports. Nothing here influences the run.

#ifndef RECIPERUN_TRAIN_REPORT_H
#define RECIPERUN_TRAIN_REPORT_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/GradientNorms.h"
#include "runtime/train/LineWriter.h"
#include "runtime/train/Phases.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::train {

/// The metrics of a finished step, as written to metrics.jsonl.
struct StepRecord {
  int64_t step = 0; // from 1
  double epoch = 0; // finished epochs, with the fraction of the current one
  double loss = 0;  // mean over the counted tokens of the global batch
  /// Of the tokens after the next ones, without its factor; nullopt when the
  /// model does not predict them.
  std::optional<double> furtherLoss;
  double learningRate = 0;
  double gradNorm = 0;                // of the global gradient, before clipping
  StepTimes times;                    // each the maximum over all ranks
  std::optional<double> hostSeconds;  // from `times`; only on GPUs
  double tokensPerSecond = 0;         // of the whole job, including padding
  int64_t samples = 0;                // consumed so far
  std::vector<int64_t> sourceSamples; // by source, when the data is a blend
  double tflopsPerRank = 0;
  std::optional<double> mfu; // nullopt when the peak is unknown
  int64_t deviceBytes = 0;   // peak of a process so far, maximum over all ranks
  /// Share of the expert choices that were dropped for lack of capacity;
  /// nullopt when the plan has room for all of them.
  std::optional<double> droppedShare;
  /// The share of the rows sent to ranks for their experts that did not fit,
  /// and the share that did not fit in the first pass.
  std::optional<double> overflowShare;
  std::optional<double> secondPassShare;
  std::optional<double> validLoss;
  /// By group of parameters, when the plan logs them.
  std::vector<GradientNorms::Norm> gradNorms;

  /// Whether training can continue after the step.
  bool isFinite() const {
    return std::isfinite(loss) && std::isfinite(gradNorm);
  }
};

/// metrics.jsonl: one JSON object per step, written by a background thread.
class MetricsFile {
public:
  /// Opens the file and keeps its rows for steps that consumed at most
  /// `samples` samples; new rows follow them. Samples identify a step, because
  /// a step number depends on the global batch.
  static Expected<MetricsFile> open(const std::filesystem::path& path,
                                    int64_t samples);
  /// Fails when an earlier row could not be written.
  Status write(const StepRecord& record);
  /// Waits until the file contains all rows.
  Status wait() { return lines->wait(); }
  /// The losses of the rows that were kept.
  const std::vector<double>& keptLosses() const { return losses; }
  /// A warning about lines that were not valid rows and were dropped; usually
  /// empty. It omits an incomplete last line, which a killed process leaves.
  const std::string& note() const { return complaint; }

private:
  std::vector<double> losses;
  std::string complaint;
  std::unique_ptr<LineWriter> lines;
};

enum class Style { automatic, bar, lines };

/// Progress on stdout. When stdout is closed or full, prints a note to stderr
/// and no more output; the run continues.
class Progress {
public:
  /// `automatic` is a bar when stdout is a terminal with a width (the
  /// pseudo-terminals that mpirun gives its ranks have none), and lines
  /// otherwise. `done` steps were finished before this run.
  Progress(Style style, int64_t steps, int64_t done, const plan::Train& train);

  /// Redraws the bar, or prints a line every `log_every` steps, at the last
  /// step and at steps with a validation.
  void step(const StepRecord& record);
  /// Shows the progress of a validation on the bar.
  void validating(int64_t batch, int64_t batches);
  /// Clears the bar and prints a line.
  void line(const std::string& text);

private:
  void drawBar(const StepRecord& record);
  void printLine(const StepRecord& record);
  void clearBar();
  void print(const std::string& text);

  bool bar = false;
  int64_t steps;
  int64_t done;
  int64_t logEvery;
  int64_t globalBatch;
  double seconds = 0; // of all steps of this run so far
  bool drawn = false;
  bool isLost = false; // output is no longer printed
};

/// `1.5 GiB`, `312.0 MiB`, `17 B`.
std::string bytesText(int64_t bytes);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_H
