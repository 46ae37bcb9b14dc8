// What a run tells: metrics.jsonl, and lines or a progress bar on stdout.
//
// Only rank 0 has a report. Nothing here decides anything about the run.

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

/// One finished step, as metrics.jsonl has it.
struct StepRecord {
  int64_t step = 0; // from 1
  double epoch = 0; // epochs that are over, with the part of the current one
  double loss = 0;  // mean over the places of the global batch that count
  double learningRate = 0;
  double gradNorm = 0;               // of the whole gradient, before clipping
  StepTimes times;                   // each the longest of all ranks
  std::optional<double> hostSeconds; // of `times`, where a device is another
  double tokensPerSecond = 0;        // of the whole job, padding included
  int64_t samples = 0;               // consumed so far
  std::vector<int64_t>
      sourceSamples; // of them by source, where they are a blend
  double tflopsPerRank = 0;
  std::optional<double> mfu; // nothing where the peak is not known
  int64_t deviceBytes = 0; // peak of a process so far, the largest of all ranks
  /// Of the choices of experts, those that had no place; nothing where the plan
  /// has one for each.
  std::optional<double> droppedShare;
  /// The same of the rows that ranks were sent for their experts.
  std::optional<double> overflowShare;
  std::optional<double> secondPassShare;
  std::optional<double> validLoss;
  /// By group of parameters, where the plan logs them.
  std::vector<GradientNorms::Norm> gradNorms;

  /// Whether training can go on from what the step left.
  bool isFinite() const {
    return std::isfinite(loss) && std::isfinite(gradNorm);
  }
};

/// metrics.jsonl: an object a step, which a thread writes at once.
class MetricsFile {
public:
  /// Of a file that is there, the rows of the steps that led to so many samples
  /// stay, and new ones follow them. A step may have been of another number: of
  /// another global batch.
  static Expected<MetricsFile> open(const std::filesystem::path& path,
                                    int64_t samples);
  /// Fails where an earlier row could not be written.
  Status write(const StepRecord& record);
  /// Waits until the file has all rows.
  Status wait() { return lines->wait(); }
  /// The losses of the rows that stayed.
  const std::vector<double>& keptLosses() const { return losses; }
  /// Which lines were no rows and did not stay; mostly empty. The last one of a
  /// process that was killed is not told.
  const std::string& note() const { return complaint; }

private:
  std::vector<double> losses;
  std::string complaint;
  std::unique_ptr<LineWriter> lines;
};

enum class Style { automatic, bar, lines };

/// Progress on stdout. Where that is closed or full, a note on stderr says so,
/// and nothing more is printed: a run does not end for it.
class Progress {
public:
  /// `automatic` is a bar where stdout is a terminal that has a width (the
  /// pseudo-terminals that mpirun gives its ranks have none), lines elsewhere.
  /// `done` steps were over before this run.
  Progress(Style style, int64_t steps, int64_t done, const plan::Train& train);

  /// A step is over: redraws the bar, or prints a line every `log_every` steps,
  /// at the last one and where the step was validated.
  void step(const StepRecord& record);
  /// A batch of the validation is over.
  void validating(int64_t batch, int64_t batches);
  /// A line of its own, past the bar.
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
  double seconds = 0; // of all steps so far
  bool drawn = false;
  bool isLost = false; // what is printed
};

/// `1.5 GiB`, `312.0 MiB`, `17 B`.
std::string bytesText(int64_t bytes);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_H
