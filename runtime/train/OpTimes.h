// Where the time of steps goes by kinds of ops, for who makes them faster, and
// how long the host takes for a step.

#ifndef RECIPERUN_TRAIN_OPTIMES_H
#define RECIPERUN_TRAIN_OPTIMES_H

#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/train/Phases.h"

#include <map>
#include <string>
#include <vector>

namespace reciperun::train {

/// Marks the device behind each op of a step, and hands on what it is told to
/// the step's own observer. Marks take some time themselves.
class OpTimes : public exec::Observer {
public:
  OpTimes(device::Device& device, exec::Observer& inner)
      : device(device), inner(inner) {}

  /// The step's ops have been done.
  void takeStep();
  /// A step of which no op was followed.
  void takeUsual(const StepTimes& times);
  /// A line a kind, of products a name in a layer; longest first: ms a step,
  /// share, number of ops.
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
    const plan::Op* op; // null: the ops of a function begin
    int number;
  };

  std::string usualText() const;

  device::Device& device;
  exec::Observer& inner;
  std::vector<Mark> marks;
  std::map<std::string, Sum> sums; // by what a line says
  int64_t steps = 0;
  StepTimes usual; // of all such steps
  int64_t usualSteps = 0;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_OPTIMES_H
