// The interface for following an executor: how long its work takes and what it
// computes. An observer changes nothing.

#ifndef RECIPERUN_EXEC_OBSERVER_H
#define RECIPERUN_EXEC_OBSERVER_H

#include "runtime/device/Tensor.h"
#include "runtime/plan/Plan.h"

#include <span>

namespace reciperun::exec {

class Observer {
public:
  virtual ~Observer() = default;

  /// Whether the observer needs beginsOp and endsOp. When it does not, the
  /// executor may launch a function as one recording.
  virtual bool followsOps() const { return true; }

  /// Called before and after each step of a schedule.
  virtual void beginsStep(const plan::ScheduleStep&) {}
  virtual void endsStep(const plan::ScheduleStep&) {}
  /// Called before and after each op of a function, with the buffers that the
  /// op reads and writes.
  virtual void beginsOp(const plan::Op&, std::span<const device::Tensor>,
                        std::span<const device::Tensor>) {}
  virtual void endsOp(const plan::Op&, std::span<const device::Tensor>) {}
};

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_OBSERVER_H
