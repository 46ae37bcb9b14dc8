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

PhaseClock::PhaseClock(const plan::Plan& plan,
                       const comm::TimedCommunicator& communicator)
    : communicator(communicator) {
  for (const plan::Function& function : plan.functions)
    functions.push_back(phaseOf(function.name));
}

void PhaseClock::start() {
  seconds = {};
  last = Clock::now();
  communicated = communicator.seconds();
}

void PhaseClock::mark(Phase phase) {
  const Clock::time_point now = Clock::now();
  const double waited = communicator.seconds() - communicated;
  const double passed = std::chrono::duration<double>(now - last).count();
  seconds[size_t(Phase::communication)] += waited;
  seconds[size_t(phase)] += passed - waited;
  communicated += waited;
  last = now;
}

PhaseSeconds PhaseClock::stop() {
  mark(Phase::other);
  return seconds;
}

void PhaseClock::endsStep(const plan::Step& step) {
  switch (step.kind) {
  case plan::Step::Kind::load:
    return mark(Phase::data);
  case plan::Step::Kind::run:
    return mark(functions[size_t(step.function)]);
  default:
    return mark(Phase::communication);
  }
}

} // namespace reciperun::train
