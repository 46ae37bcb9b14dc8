// Compares the bandwidths of two runs of a test, as a gate before a job.

#ifndef RECIPERUN_BENCH_COLLECTIVES_COMPARELOGS_H
#define RECIPERUN_BENCH_COLLECTIVES_COMPARELOGS_H

#include "runtime/benchlog/BenchLog.h"

#include <string>

namespace reciperun::bench {

struct LogComparison {
  std::string text; // comment lines, each beginning with `#`
  int slower = 0;   // measurements that are slower than allowed
};

/// Reads the log of `test` in a file: the JSON of `--output_file` or of
/// nccl-tests, or nccl-tests' output.
Expected<benchlog::BenchLog> readEarlierLog(const std::string& path,
                                            const std::string& test);

/// Compares the bus bandwidths of the rows of both logs. A measurement is
/// slower than allowed when it is more than `tolerance` percent below the
/// earlier one. Fails when no row is in both.
Expected<LogComparison> compareLogs(const benchlog::BenchLog& before,
                                    const benchlog::BenchLog& now,
                                    double tolerance, const std::string& path);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_COMPARELOGS_H
