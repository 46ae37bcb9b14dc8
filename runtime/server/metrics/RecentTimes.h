// Quantiles of the times of the last half minute.
//
// Each second has a histogram with buckets of 5 %: Prometheus' buckets are too
// coarse for short times, and storing every time would take too much memory.

#ifndef RECIPERUN_SERVER_METRICS_RECENTTIMES_H
#define RECIPERUN_SERVER_METRICS_RECENTTIMES_H

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reciperun::server {

/// All 0 if there are no times.
struct RecentQuantiles {
  int64_t count = 0;
  double p50 = 0, p95 = 0; // seconds, up to 5 % too high
};

class RecentTimes {
public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr int64_t span = 30; // seconds

  RecentTimes() : seconds(span) {}

  void add(double time, Time now);
  /// The quantiles of the times that were added in the last `span` seconds.
  RecentQuantiles quantiles(Time now) const;

private:
  // The buckets cover 10 microseconds to 1000 seconds.
  static constexpr size_t buckets = 379;

  struct Second {
    int64_t second = -1; // of the clock
    std::array<uint32_t, buckets> counts = {};
  };

  static size_t bucketOf(double time);
  static double upperBound(size_t bucket);

  std::vector<Second> seconds; // a ring
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_RECENTTIMES_H
