// The result of compiling a recipe with other settings, for the search.

#ifndef RECIPEC_SEARCH_OUTCOME_H
#define RECIPEC_SEARCH_OUTCOME_H

#include "compiler/cost/Estimate.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace recipec::search {

/// Arguments of `--set`, such as `parallel.tp=2`.
using Settings = std::vector<std::string>;

/// The results of a compilation. Plain data, so that a worker process can pass
/// it on.
struct Outcome {
  bool isValid = false;     // whether the recipe compiles with the settings
  cost::MemoryTable memory; // of the stage that takes the most
  double stepSeconds = 0;
  double bubble = 0;        // cost::Estimate::bubble
  double communication = 0; // cost::Estimate::communication
  double tokensPerSecondPerRank = 0;
  double mfu = 0;
  /// The number of ops in the stages' Programs and of steps in their schedules.
  /// It measures the effort of the compilation independently of the machine.
  size_t ops = 0;
  char reason[256] = ""; // the first error of an invalid recipe

  /// The effort in ops, including the fixed part of any compilation.
  double effort() const {
    constexpr double ofAnyCompilation = 300;
    return ofAnyCompilation + double(ops);
  }
  bool fits() const { return isValid && memory.fits(); }
};

/// Compiles the recipe with each of the settings; results in the same order.
using Compile =
    std::function<std::vector<Outcome>(const std::vector<Settings>&)>;

} // namespace recipec::search

#endif // RECIPEC_SEARCH_OUTCOME_H
