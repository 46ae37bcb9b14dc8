// Measures how long each kind of op takes in a step, and how long the host
// takes for a step. For developers who optimize them.

#ifndef RECIPERUN_TRAIN_OPTIMES_H
#define RECIPERUN_TRAIN_OPTIMES_H

#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/train/Phases.h"

#include <map>
#include <string>
#include <vector>

namespace reciperun::train {

/// Records a mark on the device after each op of a step, and forwards the steps
/// to the step's own observer. The marks themselves take some time.
class OpTimes : public exec::Observer {
public:
  OpTimes(device::Device& device, exec::Observer& inner)
      : device(device), inner(inner) {}

  /// Reads the times of a followed step. The device is idle.
  void takeStep();
  /// Adds the times of a step whose ops were not followed.
  void takeUsual(const StepTimes& times);
  /// Returns a table, longest time first: ms per step, share, number of ops and
  /// kind. Linear ops have a line per name within a layer.
  std::string table() const;

  void beginsStep(const plan::ScheduleStep& step) override;
  void endsStep(const plan::ScheduleStep& step) override;
  void endsOp(const plan::Op& op, std::span<const device::Tensor>) override;

private:
  struct Sum {
    double seconds = 0;
    int64_t count = 0;
  };
  struct Mark {
    const plan::Op* op; // null: the start of a function
    int number;
  };

  std::string usualText() const;

  device::Device& device;
  exec::Observer& inner;
  std::vector<Mark> marks;
  std::map<std::string, Sum> sums; // by the line's label
  int64_t steps = 0;
  StepTimes usual; // sum over these steps
  int64_t usualSteps = 0;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_OPTIMES_H
