// See RankTimes.h.

#include "runtime/train/metrics/RankTimes.h"

#include "runtime/base/Text.h"

namespace reciperun::train {

std::string textOf(const RankPlace& place) {
  const std::string host = "host " + place.host;
  return place.gpu.empty()
             ? host
             : host + ", GPU " + std::to_string(place.indexOnHost) + " at " +
                   place.gpu;
}

std::string stragglerText(const RankTime& time, int64_t steps) {
  return "rank " + std::to_string(time.rank) + " (" + textOf(time.place) +
         ") is " + formatted("%.2f", time.ratio) +
         "x slower than the median of " + std::to_string(time.peers) +
         " ranks over the last " + std::to_string(steps) +
         " steps, mostly in " + phaseNames[size_t(time.phase)];
}

} // namespace reciperun::train
