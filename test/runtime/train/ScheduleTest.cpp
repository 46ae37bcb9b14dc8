// The learning rate's warm-up and annealing, against NeMo's definition.

#include "runtime/train/Schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace reciperun::train {
namespace {

TEST(LearningRate, warmsUpLinearly) {
  plan::LearningRate rate{"cosine", 1.0, 0.1, 4};
  for (int step = 0; step <= 4; ++step)
    EXPECT_DOUBLE_EQ(learningRate(rate, step, 100), (step + 1) / 5.0);
}

TEST(LearningRate, cosineEndsAtTheMinimum) {
  plan::LearningRate rate{"cosine", 1.0, 0.1, 4};
  EXPECT_DOUBLE_EQ(learningRate(rate, 52, 100), 0.55);
  EXPECT_NEAR(learningRate(rate, 99, 100),
              0.1 + 0.45 * (1 + std::cos(std::numbers::pi * 95 / 96)), 1e-15);
  EXPECT_DOUBLE_EQ(learningRate(rate, 100, 100), 0.1);
  EXPECT_DOUBLE_EQ(learningRate(rate, 1000, 100), 0.1);
}

TEST(LearningRate, linearAndConstant) {
  plan::LearningRate linear{"linear", 1.0, 0.0, 0};
  EXPECT_DOUBLE_EQ(learningRate(linear, 0, 10), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(linear, 5, 10), 0.5);
  plan::LearningRate constant{"constant", 2.0, 2.0, 1};
  EXPECT_DOUBLE_EQ(learningRate(constant, 0, 10), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(constant, 9, 10), 2.0);
}

TEST(LearningRate, aWarmUpLongerThanTheRunIsNoDivisionByZero) {
  plan::LearningRate rate{"cosine", 1.0, 0.1, 10};
  EXPECT_DOUBLE_EQ(learningRate(rate, 9, 10), 10.0 / 11);
}

} // namespace
} // namespace reciperun::train
