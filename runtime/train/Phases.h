// Where the time of a step goes.

#ifndef RECIPERUN_TRAIN_PHASES_H
#define RECIPERUN_TRAIN_PHASES_H

#include "runtime/comm/TimedCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <vector>

namespace reciperun::train {

/// What a rank is busy with. The functions of a plan tell it by their names:
/// `forward...`, `backward...`, `begin` and `update`.
enum class Phase {
  data,          // reading and laying out rows
  forward,       // computing
  backward,      // computing, with what is computed again
  communication, // in collectives and waiting for messages, in any function
  optimizer,     // zeroing, norm and update
  other,         // what is none of these, and what lies between two steps
};
inline constexpr std::array phaseNames = {
    "data", "forward", "backward", "communication", "optimizer", "other"};

/// Seconds by phase; on a rank they add up to those of its step.
using PhaseSeconds = std::array<double, phaseNames.size()>;

/// How long a step took.
struct StepTimes {
  PhaseSeconds phases = {};
  double step = 0; // the sum of them, on a rank
  /// What the host computed for the step, and behind the one before.
  double host = 0;
  /// How long the ranks were held up by checkpoints since the step before.
  double saving = 0;
};

/// Follows one step after the other, by marks of the device: it waits for
/// nothing.
class PhaseClock : public exec::Observer {
public:
  /// The arguments outlive the object.
  PhaseClock(const plan::Stage& stage, device::Device& device,
             comm::TimedCommunicator& communicator);

  /// A step of the training begins.
  void start();
  /// What has passed since the last call belongs to the phase, as far as it
  /// was not communication.
  void mark(Phase phase);
  /// The step is given to the device in whole.
  void stop();
  /// Of the step that was stopped last, when the device is idle.
  PhaseSeconds seconds() const;

  bool followsOps() const override { return false; }
  void endsStep(const plan::ScheduleStep& step) override;

private:
  /// The end of some time that belongs to a phase.
  struct Mark {
    Phase phase = Phase::other;
    int number = 0;         // of the device's mark
    size_t collectives = 0; // that the communicator had timed by then
  };

  device::Device& device;
  comm::TimedCommunicator& communicator;
  std::vector<Phase> functions; // of the plan
  int begin = 0;                // the device's mark
  std::vector<Mark> marks;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_PHASES_H
