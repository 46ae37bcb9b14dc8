// Losses that are out of proportion to those before.

#ifndef RECIPERUN_TRAIN_LOSSSPIKEDETECTOR_H
#define RECIPERUN_TRAIN_LOSSSPIKEDETECTOR_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace reciperun::train {

class LossSpikeDetector {
public:
  /// Watches as `train.spike` and `train.spike_window` say; nothing where they
  /// do not.
  explicit LossSpikeDetector(const plan::Train& train)
      : factor(train.spike), window(size_t(train.spikeWindow)) {}

  /// Takes the next step's loss. The median of the losses before it, where
  /// there are as many as the window has and the loss exceeds so many times it.
  std::optional<double> take(double loss);

private:
  double median() const;

  double factor;
  size_t window;
  std::deque<double> losses; // the last ones
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_LOSSSPIKEDETECTOR_H
