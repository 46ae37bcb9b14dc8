// Which losses count as spikes.

#include "runtime/train/LossSpikeDetector.h"

#include <gtest/gtest.h>

namespace reciperun::train {
namespace {

plan::Train watching(double factor, int64_t window) {
  plan::Train train;
  train.spike = factor;
  train.spikeWindow = window;
  return train;
}

TEST(LossSpikeDetectorTest, comparesWithTheMedianOfTheWindow) {
  LossSpikeDetector watch(watching(2, 3));
  for (double loss : {1.0, 9.0, 2.0})
    EXPECT_FALSE(watch.take(loss)); // fewer than three came before
  EXPECT_FALSE(watch.take(4.0));    // twice the median of 1, 9, 2
  EXPECT_EQ(watch.take(8.5), 4.0);  // of 9, 2, 4
  EXPECT_FALSE(watch.take(8.0));    // of 2, 4, 8.5
  EXPECT_FALSE(watch.take(16.0)); // of 4, 8.5, 8: the factor itself is no spike
  EXPECT_EQ(watch.take(18.0), 8.5);
}

TEST(LossSpikeDetectorTest, takesTheLowerMiddleOfAnEvenWindow) {
  LossSpikeDetector watch(watching(2, 2));
  watch.take(1.0);
  watch.take(3.0);
  EXPECT_EQ(watch.take(2.5), 1.0);
}

TEST(LossSpikeDetectorTest, watchesNothingWithoutAFactor) {
  LossSpikeDetector watch(plan::Train{});
  EXPECT_FALSE(watch.take(1.0));
  EXPECT_FALSE(watch.take(1e9));
}

} // namespace
} // namespace reciperun::train
