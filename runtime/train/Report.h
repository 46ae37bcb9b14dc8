// Reports the progress of a run on stdout: lines or a progress bar.
//
// Only rank 0 reports. Nothing here influences the run.

#ifndef RECIPERUN_TRAIN_REPORT_H
#define RECIPERUN_TRAIN_REPORT_H

#include "runtime/plan/Plan.h"
#include "runtime/train/metrics/StepRecord.h"

#include <cstdint>
#include <string>

namespace reciperun::train {

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

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_H
