// Somebody who follows what an executor does: how long it takes, what comes out
// of it. An observer changes nothing.

#ifndef RECIPERUN_EXEC_OBSERVER_H
#define RECIPERUN_EXEC_OBSERVER_H

#include "runtime/device/Tensor.h"
#include "runtime/plan/Plan.h"

#include <span>

namespace reciperun::exec {

class Observer {
public:
  virtual ~Observer() = default;

  /// Whether it is to be told of ops: where it is not, a function may be given
  /// to the device as one.
  virtual bool followsOps() const { return true; }

  /// A step of a schedule begins, and is over.
  virtual void beginsStep(const plan::ScheduleStep&) {}
  virtual void endsStep(const plan::ScheduleStep&) {}
  /// An op of a function begins, with the buffers that it reads and those that
  /// it writes, and is over.
  virtual void beginsOp(const plan::Op&, std::span<const device::Tensor>,
                        std::span<const device::Tensor>) {}
  virtual void endsOp(const plan::Op&, std::span<const device::Tensor>) {}
};

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_OBSERVER_H
