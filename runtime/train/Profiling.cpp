// See Profiling.h.

#include "runtime/train/Profiling.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace reciperun::train {

Profiling::Profiling(const plan::Stage& stage, device::Device& device,
                     PhaseClock& clock, int rank, ProfileRange range,
                     bool timesOps)
    : stage(stage), device(device), clock(clock), rank(rank),
      range(std::move(range)) {
  if (timesOps)
    opTimes.emplace(device, clock);
}

Status Profiling::setRun(StepRange run, int ranks) {
  steps = run;
  if (range.first == 0)
    return Status::ok();
  if (steps.first >= steps.last)
    return Status::error(
        "`--profile` begins at step " + std::to_string(range.first) +
        ", and the run has done its " + std::to_string(steps.last) + " steps");
  if (range.first <= steps.first || range.first > steps.last)
    return Status::error(
        "`--profile` begins at step " + std::to_string(range.first) +
        ", and the run goes from step " + std::to_string(steps.first + 1) +
        " to " + std::to_string(steps.last));
  for (int named : range.ranks)
    if (named >= ranks)
      return Status::error("`--profile` names rank " + std::to_string(named) +
                           ", and those of the run are 0 to " +
                           std::to_string(ranks - 1));
  return Status::ok();
}

/// The last step to trace, from 1; 0 when none is traced.
int64_t Profiling::lastTraced() const {
  return std::min(range.last, steps.last);
}

std::string Profiling::beginStep(int64_t step) {
  if (step + 1 != range.first || !range.takes(rank))
    return {};
  trace.emplace(stage, device, clock);
  return trace->begin();
}

/// The first steps are not followed op by op, because they load and record
/// kernels.
exec::Observer& Profiling::observerOf(int64_t step) {
  constexpr int64_t every = 4;
  if (trace)
    return *trace;
  const bool isFollowed = opTimes && (step - steps.first) % every == every - 1;
  return isFollowed ? static_cast<exec::Observer&>(*opTimes) : clock;
}

void Profiling::startStep(int64_t step) {
  if (trace)
    trace->startStep(step + 1);
}

void Profiling::takeStep(int64_t step, const exec::Observer& observer,
                         const StepTimes& times) {
  if (trace)
    trace->takeStep();
  else if (&observer != &clock)
    opTimes->takeStep();
  else if (opTimes && step >= steps.first + warmUpSteps)
    opTimes->takeUsual(times);
}

Status Profiling::write(const std::filesystem::path& folder) {
  if (!trace)
    return Status::ok();
  char name[32];
  std::snprintf(name, sizeof name, "rank-%05d.json", rank);
  std::error_code code; // writing the file reports the failure
  std::filesystem::create_directories(folder, code);
  Status written = trace->write(folder / name, rank);
  trace.reset();
  return written;
}

std::string Profiling::textOfTraces(const std::filesystem::path& folder) const {
  return "traces of steps " + std::to_string(range.first) + " to " +
         std::to_string(lastTraced()) + " in `" + folder.string() + "`";
}

} // namespace reciperun::train
