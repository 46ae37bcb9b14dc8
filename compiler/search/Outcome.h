// The result of compiling a recipe with other settings, for searches over them.

#ifndef RECIPEC_SEARCH_OUTCOME_H
#define RECIPEC_SEARCH_OUTCOME_H

#include "compiler/cost/Estimate.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace recipec::search {

/// `parallel.tp=2`, each as an argument of `--set`.
using Settings = std::vector<std::string>;

/// What a compilation found. Plain data, which a worker process hands over.
struct Outcome {
  bool isValid = false;     // whether the recipe compiles with the settings
  cost::MemoryTable memory; // of the stage that takes most
  double stepSeconds = 0;
  double bubble = 0;        // cost::Estimate::bubble
  double communication = 0; // cost::Estimate::communication
  double tokensPerSecondPerRank = 0;
  double mfu = 0;
  /// Ops of the stages' Programs and steps of their schedules: the effort of
  /// the compilation, which does not depend on the machine.
  size_t ops = 0;
  char reason[256] = ""; // the first error of an invalid recipe

  /// In units of ops, with what every compilation takes.
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
