// What the options `--op-times` and `--profile` measure of a run's steps.
//
// `--op-times` follows every fourth step op by op and sums the times by kind of
// op. `--profile` traces a range of steps on some ranks. All other steps report
// to the step's own clock.

#ifndef RECIPERUN_TRAIN_PROFILING_H
#define RECIPERUN_TRAIN_PROFILING_H

#include "runtime/train/OpTimes.h"
#include "runtime/train/Phases.h"
#include "runtime/train/Trace.h"

#include <filesystem>
#include <optional>
#include <string>

namespace reciperun::train {

/// The first steps of a run differ from later ones: they load kernels and
/// record them.
inline constexpr int64_t warmUpSteps = 3;

/// The steps of a run: `first` to `last` - 1, counted from 0.
struct StepRange {
  int64_t first = 0;
  int64_t last = 0;
};

class Profiling {
public:
  /// `stage`, `device` and `clock` must outlive the object.
  Profiling(const plan::Stage& stage, device::Device& device, PhaseClock& clock,
            int rank, ProfileRange range, bool timesOps);

  /// Checks the range of `--profile` against a run's steps and number of ranks,
  /// and takes the steps. The result is the same on all ranks.
  Status setRun(StepRange steps, int ranks);

  bool timesOps() const { return opTimes.has_value(); }
  /// Whether a step is the last one that `--profile` traces.
  bool endsAfter(int64_t step) const { return step + 1 == lastTraced(); }

  /// Begins the trace if it starts at this step. The device must be idle.
  /// Returns a note when the device cannot report its activities.
  std::string beginStep(int64_t step);
  /// The observer of the step.
  exec::Observer& observerOf(int64_t step);
  /// Records that the step's work begins. The device must be idle.
  void startStep(int64_t step);
  /// Takes the times of the step, which `observer` followed. The device must be
  /// idle.
  void takeStep(int64_t step, const exec::Observer& observer,
                const StepTimes& times);

  /// Ends the trace and writes this rank's file into `folder`; does nothing on
  /// ranks without a trace.
  Status write(const std::filesystem::path& folder);
  /// ``traces of steps 3 to 5 in `folder` ``.
  std::string textOfTraces(const std::filesystem::path& folder) const;
  /// The table of `--op-times`.
  std::string table() const { return opTimes->table(); }

private:
  int64_t lastTraced() const;

  const plan::Stage& stage;
  device::Device& device;
  PhaseClock& clock;
  const int rank;
  const ProfileRange range;
  StepRange steps;
  std::optional<OpTimes> opTimes; // when requested
  std::optional<Trace> trace;     // while steps are traced
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_PROFILING_H
