// Finds the slow device or link among ranks that should be alike.

#ifndef RECIPERUN_BENCH_HEALTH_HEALTHPROBLEMS_H
#define RECIPERUN_BENCH_HEALTH_HEALTHPROBLEMS_H

#include "runtime/bench/health/HealthReport.h"

#include <string>
#include <vector>

namespace reciperun::bench {

/// An earlier run, and the name of its file.
struct EarlierHealth {
  HealthReport report;
  std::string path;
};

/// Sentences that each name a device or a link, its rate, and the factor:
///
/// - a rate of a rank more than `tolerance` percent below the median of the
///   ranks with the same device, or of an earlier run's;
/// - a link as far below the median of the ranks' best links of its kind. Where
///   most links of a rank are slow, the rank is named once instead of its
///   links;
/// - the faults of ranks.
///
/// Of an even number of rates the median is the larger of the middle ones, so
/// that of two ranks the slower one is found. `earlier` may be null.
std::vector<std::string> problemsOf(const HealthReport& report,
                                    double tolerance,
                                    const EarlierHealth* earlier);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_HEALTHPROBLEMS_H
