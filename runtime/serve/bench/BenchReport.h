// The statistics of a benchmark as a table and as JSON.

#ifndef RECIPERUN_SERVE_BENCH_BENCHREPORT_H
#define RECIPERUN_SERVE_BENCH_BENCHREPORT_H

#include "runtime/base/Status.h"
#include "runtime/serve/bench/BenchStatistics.h"

#include <cstdint>
#include <string>

namespace reciperun::serve {

/// What was measured, for the report.
struct BenchSettings {
  std::string model;   // its folder, as given
  std::string dataset; // empty: random ids
  BenchLoad load;
  int64_t warmup = 0;
  int64_t ranks = 1;
};

/// Lines with trtllm-bench's names: throughputs, then a table of latencies.
std::string benchTable(const BenchStatistics& statistics,
                       const BenchSettings& settings);

/// A JSON object with the settings and all statistics, times in milliseconds.
std::string benchJson(const BenchStatistics& statistics,
                      const BenchSettings& settings);

/// Writes a text and replaces a file. Fails, with the cause, when the file
/// cannot be written.
Status writeReport(const std::string& path, const std::string& text);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHREPORT_H
