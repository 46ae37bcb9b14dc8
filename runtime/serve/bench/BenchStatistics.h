// The statistics of a benchmark, with the names and definitions of
// trtllm-bench.

#ifndef RECIPERUN_SERVE_BENCH_BENCHSTATISTICS_H
#define RECIPERUN_SERVE_BENCH_BENCHSTATISTICS_H

#include "runtime/serve/bench/BenchRun.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

/// The distribution of a value over requests or tokens; all 0 when there are
/// none.
struct BenchSummary {
  int64_t count = 0;
  double least = 0, most = 0, average = 0;
  /// Percentiles, interpolated linearly between the two nearest values.
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

/// Sorts the values and multiplies them by `unit`.
BenchSummary summarize(std::vector<double> values, double unit = 1);
BenchSummary summarize(std::vector<float> values, double unit = 1);

/// The statistics of the answered requests. Throughputs are divided by the time
/// from the start of the run to its last token.
struct BenchStatistics {
  int64_t completed = 0;
  int64_t failed = 0;
  std::string firstError; // of the requests that failed
  int64_t inputTokens = 0, outputTokens = 0;
  int64_t draftedTokens = 0, acceptedTokens = 0; // of drafts; of these, right
  double seconds = 0;
  double requestThroughput = 0; // requests/s
  double outputThroughput = 0;  // output tokens/s
  double totalThroughput = 0;   // input and output tokens/s
  double gpuThroughput = 0;     // output tokens/s for each GPU or CPU rank
  /// The average over requests of output tokens per second of latency.
  double userThroughput = 0;
  /// The average over requests of 1 / TPOT.
  double userSpeed = 0;
  /// In milliseconds: time to the first token; time per output token after the
  /// first, for requests with at least two; intervals between tokens; time from
  /// the start to the last token.
  BenchSummary ttft, tpot, itl, latency;
};

/// `ranks` is the number of GPUs, or of CPU ranks.
BenchStatistics statisticsOf(BenchResult result, int64_t ranks);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHSTATISTICS_H
