// See LossSpikeDetector.h.

#include "runtime/train/LossSpikeDetector.h"

#include <algorithm>
#include <vector>

namespace reciperun::train {

std::optional<double> LossSpikeDetector::take(double loss) {
  if (factor <= 0)
    return std::nullopt;
  std::optional<double> exceeded;
  if (losses.size() == window) {
    if (double usual = median(); loss > factor * usual)
      exceeded = usual;
    losses.pop_front();
  }
  losses.push_back(loss);
  return exceeded;
}

/// The lower of the two middle values when the count is even.
double LossSpikeDetector::median() const {
  std::vector<double> sorted(losses.begin(), losses.end());
  auto middle = sorted.begin() + long((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

} // namespace reciperun::train
