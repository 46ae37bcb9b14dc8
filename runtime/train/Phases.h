// Splits the time of a step into phases.

#ifndef RECIPERUN_TRAIN_PHASES_H
#define RECIPERUN_TRAIN_PHASES_H

#include "runtime/comm/TimedCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/metrics/StepRecord.h"

#include <vector>

namespace reciperun::train {

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
