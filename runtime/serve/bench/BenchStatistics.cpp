// Sums over requests, and percentiles of sorted values.

#include "runtime/serve/bench/BenchStatistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reciperun::serve {
namespace {

constexpr double milliseconds = 1e3;

/// `share` of 0.5 is the median. `sorted` is not empty.
template <class T>
double percentile(const std::vector<T>& sorted, double share) {
  const double place = share * double(sorted.size() - 1);
  const auto low = size_t(std::floor(place));
  const size_t high = std::min(low + 1, sorted.size() - 1);
  const double first = sorted[low], second = sorted[high];
  return first + (place - double(low)) * (second - first);
}

template <class T> BenchSummary summaryOf(std::vector<T> values, double unit) {
  BenchSummary summary;
  if (values.empty())
    return summary;
  std::sort(values.begin(), values.end());
  summary.count = int64_t(values.size());
  summary.least = unit * double(values.front());
  summary.most = unit * double(values.back());
  summary.average = unit * std::accumulate(values.begin(), values.end(), 0.0) /
                    double(values.size());
  summary.p50 = unit * percentile(values, 0.5);
  summary.p90 = unit * percentile(values, 0.9);
  summary.p95 = unit * percentile(values, 0.95);
  summary.p99 = unit * percentile(values, 0.99);
  return summary;
}

/// The values of the answered requests, in seconds.
struct RequestTimes {
  std::vector<double> ttft, tpot, latency;
};

void addRequest(const BenchRecord& record, BenchStatistics& statistics,
                RequestTimes& times) {
  ++statistics.completed;
  statistics.inputTokens += record.inputTokens;
  statistics.outputTokens += record.outputTokens;
  const double latency = record.end - record.start;
  times.ttft.push_back(record.firstToken - record.start);
  times.latency.push_back(latency);
  if (latency > 0)
    statistics.userThroughput += double(record.outputTokens) / latency;
  if (record.outputTokens < 2)
    return;
  const double tpot =
      (record.end - record.firstToken) / double(record.outputTokens - 1);
  times.tpot.push_back(tpot);
  if (tpot > 0)
    statistics.userSpeed += 1 / tpot;
}

} // namespace

BenchSummary summarize(std::vector<double> values, double unit) {
  return summaryOf(std::move(values), unit);
}

BenchSummary summarize(std::vector<float> values, double unit) {
  return summaryOf(std::move(values), unit);
}

BenchStatistics statisticsOf(BenchResult result, int64_t ranks) {
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
  statistics.ttft = summarize(std::move(times.ttft), milliseconds);
  statistics.tpot = summarize(std::move(times.tpot), milliseconds);
  statistics.latency = summarize(std::move(times.latency), milliseconds);
  statistics.itl = summarize(std::move(result.gaps), milliseconds);
  return statistics;
}

} // namespace reciperun::serve
