// Compiles a recipe with many settings on all cores.

#ifndef RECIPEC_DRIVER_TRIALPOOL_H
#define RECIPEC_DRIVER_TRIALPOOL_H

#include "compiler/driver/Pipeline.h"
#include "compiler/search/Outcome.h"

#include <cstddef>
#include <vector>

namespace recipec::driver {

/// The figures of a compilation that searches compare.
search::Outcome outcomeOf(const Compilation& compilation);

/// Worker processes that share the session's parsed files. A compilation is not
/// safe to run in several threads: it adds sources to its session.
class TrialPool {
public:
  explicit TrialPool(Session& session);

  /// Compiles the session's recipe with each of the settings, in any order.
  /// The outcomes do not depend on the number of cores.
  std::vector<search::Outcome>
  compile(const std::vector<search::Settings>& trials);

private:
  search::Outcome compileOne(const search::Settings& settings);

  Session& session;
  size_t cores;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_TRIALPOOL_H
