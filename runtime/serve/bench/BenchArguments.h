// The command line of `reciperun bench serve`.

#ifndef RECIPERUN_SERVE_BENCH_BENCHARGUMENTS_H
#define RECIPERUN_SERVE_BENCH_BENCHARGUMENTS_H

#include "runtime/cli/Command.h"
#include "runtime/serve/engine/AdapterArguments.h"
#include "runtime/serve/sampling/SamplingArguments.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

struct BenchArguments {
  std::vector<std::string> directories; // exactly one
  std::string dataset;                  // empty: random requests
  int64_t requests = 0;     // 0: 100 random ones, or all of the file
  int64_t inputTokens = 0;  // 0: 128; of random requests
  int64_t outputTokens = 0; // 0: 128; of random requests
  int64_t concurrency = 0;  // 0: unlimited
  double requestRate = 0;   // a second; 0: all at the start
  int64_t warmup = 2;       // requests
  uint64_t seed = 0;
  int threads = 0; // of the CPU; 0: OMP_NUM_THREADS or all cores
  std::vector<NamedAdapter> adapters;
  SamplingArguments sampling; // temperature, filters and penalties
  std::string reportPath;
};

/// The command `serve` without its `run`; it stores its values in `arguments`,
/// which must outlive it.
cli::Command describeBenchServe(BenchArguments& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHARGUMENTS_H
