// Finds what limits the speed of a step.

#ifndef RECIPEC_DRIVER_STEPLIMIT_H
#define RECIPEC_DRIVER_STEPLIMIT_H

#include "compiler/cost/Estimate.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <utility>

namespace recipec::driver {

/// The kinds of work in a step, with their names in text and JSON.
inline constexpr std::pair<cost::Work, std::pair<const char*, const char*>>
    workNames[] = {{cost::Work::matmuls, {"matmuls", "matmuls"}},
                   {cost::Work::attention, {"attention", "attention"}},
                   {cost::Work::scans, {"state-space scans", "scans"}},
                   {cost::Work::memory, {"memory-bound ops", "memory_bound"}}};

/// The largest part of a predicted step, and a setting that would shorten it.
struct StepLimit {
  std::string part;   // "communication of `ep`"
  double share = 0;   // of the step
  std::string remedy; // "a smaller `tp`"; by rules of thumb, not compiled
};

/// Requires a predicted step on GPUs.
StepLimit stepLimitOf(const cost::Estimate& estimate,
                      const recipe::Recipe& recipe);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_STEPLIMIT_H
