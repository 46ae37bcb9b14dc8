// Splits the time of a step into phases.

#ifndef RECIPERUN_TRAIN_PHASES_H
#define RECIPERUN_TRAIN_PHASES_H

#include "runtime/comm/TimedCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/plan/Plan.h"

#include <array>
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

/// Measures steps with marks on the device; it never waits for the device.
class PhaseClock : public exec::Observer {
public:
  /// The arguments outlive the object.
  PhaseClock(const plan::Stage& stage, device::Device& device,
             comm::TimedCommunicator& communicator);

  /// Begins a step of the training.
  void start();
  /// Assigns the time since the last call to the phase, except for
  /// communication.
  void mark(Phase phase);
  /// Ends the step once all its work has been launched.
  void stop();
  /// The times of the last stopped step. The device must be idle.
  PhaseSeconds seconds() const;

  bool followsOps() const override { return false; }
  void endsStep(const plan::ScheduleStep& step) override;

private:
  /// The end of an interval that belongs to a phase.
  struct Mark {
    Phase phase = Phase::other;
    int number = 0;         // the device's mark
    size_t collectives = 0; // timed by the communicator by then
  };

  device::Device& device;
  comm::TimedCommunicator& communicator;
  std::vector<Phase> functions; // phase of each function of the stage
  int begin = 0;                // the device's mark
  std::vector<Mark> marks;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_PHASES_H
