// See Phases.h.

#include "runtime/train/Phases.h"

#include <string_view>

namespace reciperun::train {
namespace {

Phase phaseOf(std::string_view function) {
  if (function.starts_with("forward"))
    return Phase::forward;
  if (function.starts_with("backward"))
    return Phase::backward;
  bool isOptimizer = function == "begin" || function == "update";
  return isOptimizer ? Phase::optimizer : Phase::other;
}

} // namespace

PhaseClock::PhaseClock(const plan::Stage& stage, device::Device& device,
                       comm::TimedCommunicator& communicator)
    : device(device), communicator(communicator) {
  for (const plan::Function& function : stage.functions)
    functions.push_back(phaseOf(function.name));
}

void PhaseClock::start() {
  marks.clear();
  device.forgetMarks();
  communicator.startTiming();
  begin = device.mark();
}

void PhaseClock::mark(Phase phase) {
  marks.push_back({phase, device.mark(), communicator.intervals().size()});
}

void PhaseClock::stop() {
  mark(Phase::other);
  communicator.stopTiming();
}

PhaseSeconds PhaseClock::seconds() const {
  PhaseSeconds seconds = {};
  int last = begin;
  size_t done = 0;
  for (const Mark& mark : marks) {
    double waited = 0;
    for (; done < mark.collectives; ++done) {
      const auto& [from, to] = communicator.intervals()[done];
      waited += device.seconds(from, to);
    }
    const double passed = device.seconds(last, mark.number);
    seconds[size_t(Phase::communication)] += waited;
    seconds[size_t(mark.phase)] += passed - waited;
    last = mark.number;
  }
  return seconds;
}

void PhaseClock::endsStep(const plan::ScheduleStep& step) {
  switch (step.kind) {
  case plan::ScheduleStep::Kind::load:
    return mark(Phase::data);
  case plan::ScheduleStep::Kind::run:
    return mark(functions[size_t(step.function)]);
  default:
    return mark(Phase::communication);
  }
}

} // namespace reciperun::train
