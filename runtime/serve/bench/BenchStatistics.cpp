// Sums over requests, and percentiles of sorted values.

#include "runtime/serve/bench/BenchStatistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reciperun::serve {
namespace {

constexpr double milliseconds = 1e3;

/// `share` of 0.5 is the median. `sorted` is not empty.
double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * double(sorted.size() - 1);
  const auto low = size_t(std::floor(place));
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - double(low)) * (sorted[high] - sorted[low]);
}

/// The values of the answered requests, in milliseconds.
struct RequestTimes {
  std::vector<double> ttft, tpot, latency;
};

void addRequest(const BenchRecord& record, BenchStatistics& statistics,
                RequestTimes& times) {
  ++statistics.completed;
  statistics.inputTokens += record.inputTokens;
  statistics.outputTokens += record.outputTokens;
  const double latency = record.end - record.start;
  times.ttft.push_back((record.firstToken - record.start) * milliseconds);
  times.latency.push_back(latency * milliseconds);
  if (latency > 0)
    statistics.userThroughput += double(record.outputTokens) / latency;
  if (record.outputTokens < 2)
    return;
  const double tpot =
      (record.end - record.firstToken) / double(record.outputTokens - 1);
  times.tpot.push_back(tpot * milliseconds);
  if (tpot > 0)
    statistics.userSpeed += 1 / tpot;
}

} // namespace

BenchSummary summarize(std::vector<double> values) {
  BenchSummary summary;
  if (values.empty())
    return summary;
  std::sort(values.begin(), values.end());
  summary.count = int64_t(values.size());
  summary.least = values.front();
  summary.most = values.back();
  summary.average = std::accumulate(values.begin(), values.end(), 0.0) /
                    double(values.size());
  summary.p50 = percentile(values, 0.5);
  summary.p90 = percentile(values, 0.9);
  summary.p95 = percentile(values, 0.95);
  summary.p99 = percentile(values, 0.99);
  return summary;
}

BenchStatistics statisticsOf(const BenchResult& result, int64_t ranks) {
  BenchStatistics statistics;
  RequestTimes times;
  for (const BenchRecord& record : result.records) {
    if (record.error.empty()) {
      addRequest(record, statistics, times);
      continue;
    }
    if (statistics.failed++ == 0)
      statistics.firstError = record.error;
  }
  statistics.seconds = result.seconds;
  if (result.seconds > 0) {
    const double output = double(statistics.outputTokens);
    statistics.requestThroughput =
        double(statistics.completed) / result.seconds;
    statistics.outputThroughput = output / result.seconds;
    statistics.totalThroughput =
        (output + double(statistics.inputTokens)) / result.seconds;
    statistics.gpuThroughput = statistics.outputThroughput / double(ranks);
  }
  if (statistics.completed > 0)
    statistics.userThroughput /= double(statistics.completed);
  if (!times.tpot.empty())
    statistics.userSpeed /= double(times.tpot.size());
  statistics.ttft = summarize(std::move(times.ttft));
  statistics.tpot = summarize(std::move(times.tpot));
  statistics.latency = summarize(std::move(times.latency));
  std::vector<double> gaps(result.gaps.begin(), result.gaps.end());
  for (double& gap : gaps)
    gap *= milliseconds;
  statistics.itl = summarize(std::move(gaps));
  return statistics;
}

} // namespace reciperun::serve
