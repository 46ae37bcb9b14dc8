// Compares algorithms by their times:
//   1. one timed run of each selects those that are worth a comparison;
//   2. for long matmuls the GPU is heated once;
//   3. in each round, every algorithm is timed once;
//   4. the algorithm with the smallest median relative time is chosen.

#include "runtime/device/cuda/MatmulComparison.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace reciperun::device {
namespace {

using Time = MatmulComparison::Time;

constexpr float longMatmul = 0.15f; // ms
constexpr float heatingTime = 300;  // ms

/// The effort of a comparison: the number of rounds, in which each algorithm is
/// timed for `ms` after an untimed warm-up of `before` ms.
struct Turns {
  int rounds;
  float before, ms;
};
constexpr Turns usual = {5, 0, 1}, hot = {3, 4, 10};

/// The median of a few values. Infinity without values, so that it is never the
/// smallest.
double median(std::vector<double> values) {
  if (values.empty())
    return std::numeric_limits<double>::infinity();
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The indices of algorithms to compare: the first one that runs, and others
/// that are not much slower than the fastest in a single run, `most` in total.
std::vector<size_t> select(size_t count, const Time& time) {
  constexpr float much = 1.12f;
  constexpr size_t most = 6;
  std::vector<std::pair<float, size_t>> times;
  for (size_t i = 0; i < count; ++i)
    if (time(i, 1, 0)) // loads the kernel
      if (const auto taken = time(i, 1, 0))
        times.emplace_back(*taken, i);
  if (times.empty())
    return {};
  std::vector<size_t> selected = {times[0].second};
  std::ranges::sort(times);
  for (const auto& [taken, i] : times)
    if (i != selected[0] && taken <= much * times[0].first &&
        selected.size() < most)
      selected.push_back(i);
  return selected;
}

/// For each algorithm, its times relative to the first one's; empty for the
/// first. `once` is the first one's time in ms.
std::vector<std::vector<double>> compare(const std::vector<size_t>& algorithms,
                                         const Time& time, const Turns& turns,
                                         float once) {
  auto within = [&](float ms) { return int(std::min(ms / once, 64.0f)); };
  const int repetitions = std::max(1, within(turns.ms));
  const int before = within(turns.before);
  std::vector<std::vector<double>> parts(algorithms.size());
  for (int round = 0; round < turns.rounds; ++round) {
    const float first = time(algorithms[0], repetitions, before).value_or(0);
    for (size_t i = 1; i < algorithms.size(); ++i)
      if (const auto taken = time(algorithms[i], repetitions, before);
          taken && first > 0)
        parts[i].push_back(double(*taken) / first);
  }
  return parts;
}

} // namespace

std::optional<size_t> MatmulComparison::fastest(size_t count,
                                                const Time& time) {
  constexpr double clearly = 0.985;
  const std::vector<size_t> running = select(count, time);
  if (running.empty())
    return std::nullopt;
  const float once = std::max(time(running[0], 1, 0).value_or(1), 1e-3f);
  const bool isLong = once > longMatmul;
  if (isLong && !std::exchange(isHot, true))
    time(running[0], 1, int(heatingTime / once));
  const auto parts = compare(running, time, isLong ? hot : usual, once);
  size_t best = 0;
  double least = clearly;
  for (size_t i = 1; i < running.size(); ++i)
    if (const double part = median(parts[i]); part < least) {
      least = part;
      best = i;
    }
  return running[best];
}

} // namespace reciperun::device
