// The metrics of a training step.

#ifndef RECIPERUN_TRAIN_METRICS_STEPRECORD_H
#define RECIPERUN_TRAIN_METRICS_STEPRECORD_H

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

/// What a rank spends time on. The name of a function determines its phase:
/// `forward...`, `backward...`, `begin` and `update`.
enum class Phase {
  data,          // reading and packing rows
  forward,       // computing
  backward,      // computing, including recomputation
  communication, // collectives and waiting for messages, in any function
  optimizer,     // zeroing, norm and update
  other,         // everything else, including the time between steps
};
inline constexpr std::array phaseNames = {
    "data", "forward", "backward", "communication", "optimizer", "other"};

/// Seconds by phase. On one rank they add up to the time of its step.
using PhaseSeconds = std::array<double, phaseNames.size()>;

/// The times of a step, in seconds.
struct StepTimes {
  PhaseSeconds phases = {};
  double step = 0; // on one rank, the sum of the phases
  /// CPU time of the host for the step, including the work after the previous
  /// one.
  double host = 0;
  /// How long checkpoints blocked the ranks since the previous step.
  double saving = 0;
};

/// The name of a group of parameters, and the norm of its gradient.
using GradientNorm = std::pair<std::string, double>;

/// The metrics of a finished step, as written to metrics.jsonl.
struct StepRecord {
  int64_t step = 0; // from 1
  double time = 0;  // when it ended, see epochSeconds()
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
  std::vector<GradientNorm> gradNorms;

  /// Whether training can continue after the step.
  bool isFinite() const {
    return std::isfinite(loss) && std::isfinite(gradNorm);
  }
};

/// The time by the system's clock, in seconds since 1970 with milliseconds.
inline double epochSeconds() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return double(std::chrono::duration_cast<milliseconds>(now).count()) / 1000;
}

/// A checkpoint that was saved.
struct SavedCheckpoint {
  std::string path;
  int64_t step = 0;
  double seconds = 0; // from the copy of the state to the manifest
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_STEPRECORD_H
