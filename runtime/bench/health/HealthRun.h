// A run of `reciperun bench health` on connected ranks.

#ifndef RECIPERUN_BENCH_HEALTH_HEALTHRUN_H
#define RECIPERUN_BENCH_HEALTH_HEALTHRUN_H

#include "runtime/bench/BenchRanks.h"
#include "runtime/nvml/Library.h"

#include <string>

namespace reciperun::bench {

struct HealthArguments {
  std::string device;       // `cuda` or `cpu`; empty: what the build is for
  double seconds = 1;       // of each measurement
  double tolerance = 10;    // percent
  std::string comparedPath; // of an earlier run's JSON; empty: none
  std::string outputPath;   // of the JSON; empty: none
  std::string nvml = nvml::Library::defaultName;
};

/// Measures all ranks, prints the results and the problems on rank 0, and
/// returns the exit code: 1 where there is a problem. Collective; fails on all
/// ranks with one message.
Expected<int> runHealth(const HealthArguments& arguments,
                        const BenchRank& rank);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_HEALTHRUN_H
