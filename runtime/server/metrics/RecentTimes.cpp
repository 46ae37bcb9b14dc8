// See RecentTimes.h.

#include "runtime/server/metrics/RecentTimes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace reciperun::server {
namespace {

constexpr double firstBound = 1e-5; // seconds
constexpr double ratio = 1.05;

int64_t secondOf(RecentTimes::Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(
             time.time_since_epoch())
      .count();
}

/// The first bucket up to which there are `rank` times.
size_t bucketOfRank(std::span<const int64_t> counts, double rank) {
  int64_t below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    if (double(below) >= rank)
      return i;
  }
  return counts.size() - 1;
}

} // namespace

size_t RecentTimes::bucketOf(double time) {
  const double power = std::log(time / firstBound) / std::log(ratio);
  if (!(power > 0))
    return 0;
  return std::min(buckets - 1, size_t(std::ceil(power)));
}

double RecentTimes::upperBound(size_t bucket) {
  return firstBound * std::pow(ratio, double(bucket));
}

void RecentTimes::add(double time, Time now) {
  const int64_t second = secondOf(now);
  Second& slot = seconds[size_t(second % span)];
  if (slot.second != second)
    slot = {.second = second};
  ++slot.counts[bucketOf(time)];
}

RecentQuantiles RecentTimes::quantiles(Time now) const {
  const int64_t oldest = secondOf(now) - span + 1;
  std::array<int64_t, buckets> counts = {};
  for (const Second& slot : seconds)
    if (slot.second >= oldest)
      for (size_t i = 0; i < buckets; ++i)
        counts[i] += slot.counts[i];
  const int64_t all = std::accumulate(counts.begin(), counts.end(), int64_t(0));
  if (all == 0)
    return {};
  return {all, upperBound(bucketOfRank(counts, 0.5 * double(all))),
          upperBound(bucketOfRank(counts, 0.95 * double(all)))};
}

} // namespace reciperun::server
