// See StragglerDetector.h.

#include "runtime/train/StragglerDetector.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace reciperun::train {
namespace {

/// The phases in which a rank waits for no other rank.
constexpr std::array ownPhases = {Phase::data, Phase::forward, Phase::backward,
                                  Phase::optimizer};
/// Seconds a step in these phases.
using OwnSeconds = std::array<double, ownPhases.size()>;

double sumOf(const OwnSeconds& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// The lower of the two middle values when the count is even.
double medianOf(std::vector<double> values) {
  const auto middle = values.begin() + long((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Compares the ranks `peers` with each other.
void compare(const std::vector<int>& peers,
             const std::vector<OwnSeconds>& seconds, RankTimes& times) {
  const auto medianBy = [&](const auto& read) {
    std::vector<double> values;
    for (const int rank : peers)
      values.push_back(read(seconds[size_t(rank)]));
    return medianOf(std::move(values));
  };
  OwnSeconds usual = {};
  for (size_t i = 0; i < usual.size(); ++i)
    usual[i] = medianBy([&](const OwnSeconds& each) { return each[i]; });
  const double median = medianBy(sumOf);
  for (const int rank : peers) {
    const OwnSeconds& own = seconds[size_t(rank)];
    RankTime& time = times[size_t(rank)];
    time.seconds = sumOf(own);
    time.peers = int(peers.size());
    time.ratio = median > 0 ? time.seconds / median : 1;
    size_t most = 0;
    for (size_t i = 1; i < own.size(); ++i)
      if (own[i] - usual[i] > own[most] - usual[most])
        most = i;
    time.phase = ownPhases[most];
  }
}

} // namespace

StragglerDetector::StragglerDetector(const plan::Plan& plan, int rank,
                                     std::vector<RankPlace> places)
    : plan(plan), rank(rank), places(std::move(places)),
      slow(this->places.size()) {}

void StragglerDetector::add(const PhaseSeconds& seconds) {
  ++steps;
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += seconds[i];
}

bool StragglerDetector::isDue() const {
  return steps == plan.train.stragglerWindow;
}

void StragglerDetector::appendTo(std::vector<int64_t>& values) const {
  const size_t first = values.size() + size_t(rank) * ownPhases.size();
  values.resize(values.size() + places.size() * ownPhases.size());
  for (size_t i = 0; i < ownPhases.size(); ++i)
    values[first + i] = int64_t(sums[size_t(ownPhases[i])] * 1e9);
}

RankTimes StragglerDetector::takeWindow(const int64_t* shared) {
  std::vector<OwnSeconds> seconds(places.size());
  for (OwnSeconds& each : seconds)
    for (double& phase : each)
      phase = double(*shared++) / 1e9 / double(steps);
  steps = 0;
  sums = {};
  RankTimes times(places.size());
  std::vector<std::vector<int>> stages(plan.stages.size());
  for (int each = 0; each < int(places.size()); ++each) {
    times[size_t(each)].rank = each;
    times[size_t(each)].place = places[size_t(each)];
    stages[size_t(plan::coordinate(plan.mesh, each, "pp"))].push_back(each);
  }
  for (const std::vector<int>& peers : stages)
    if (!peers.empty())
      compare(peers, seconds, times);
  return times;
}

StragglerDetector::Changes
StragglerDetector::changesBy(const RankTimes& times) {
  Changes changes;
  for (const RankTime& time : times) {
    const bool isSlow = time.ratio > plan.train.straggler;
    if (isSlow != slow[size_t(time.rank)])
      (isSlow ? changes.slow : changes.recovered).push_back(time);
    slow[size_t(time.rank)] = isSlow;
  }
  return changes;
}

} // namespace reciperun::train
