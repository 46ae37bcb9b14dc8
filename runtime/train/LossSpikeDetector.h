// Detects losses that are far above the recent ones.

#ifndef RECIPERUN_TRAIN_LOSSSPIKEDETECTOR_H
#define RECIPERUN_TRAIN_LOSSSPIKEDETECTOR_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace reciperun::train {

class LossSpikeDetector {
public:
  /// Takes its settings from `train.spike` and `train.spike_window`; inactive
  /// when they are not set.
  explicit LossSpikeDetector(const plan::Train& train)
      : factor(train.spike), window(size_t(train.spikeWindow)) {}

  /// Takes the next step's loss. Returns the median of the window of losses
  /// before it when the window is full and the loss exceeds `train.spike` times
  /// the median; otherwise nullopt.
  std::optional<double> take(double loss);

private:
  double median() const;

  double factor;
  size_t window;
  std::deque<double> losses; // the last `window` losses at most
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_LOSSSPIKEDETECTOR_H
