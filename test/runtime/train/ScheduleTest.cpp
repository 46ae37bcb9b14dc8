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

TEST(LearningRate, stableThenDecay) {
  plan::LearningRate rate{"wsd", 1.0, 0.2, 10, 0, 40, 0, "linear"};
  EXPECT_DOUBLE_EQ(learningRate(rate, 4, 100), 5.0 / 11);
  EXPECT_DOUBLE_EQ(learningRate(rate, 11, 100), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(rate, 60, 100), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(rate, 70, 100), 0.8);
  EXPECT_DOUBLE_EQ(learningRate(rate, 100, 100), 0.2);
  rate.shape = "sqrt";
  EXPECT_DOUBLE_EQ(learningRate(rate, 70, 100), 0.6);
  rate.shape = "cosine";
  EXPECT_DOUBLE_EQ(learningRate(rate, 80, 100), 0.6);
}

TEST(LearningRate, inverseSquareRootIsContinuousAtThePeak) {
  plan::LearningRate rate{"inverse_sqrt", 1.0, 0.1, 24};
  EXPECT_DOUBLE_EQ(learningRate(rate, 24, 1000), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(rate, 99, 1000), 0.5);
  EXPECT_DOUBLE_EQ(learningRate(rate, 9999, 10000), 0.1);
}

TEST(LearningRate, fractionsAreOfTheRun) {
  plan::LearningRate rate{"wsd", 1.0, 0.0, 0, 0.1, 0, 0.5, "linear"};
  EXPECT_DOUBLE_EQ(learningRate(rate, 4, 100), 5.0 / 11);
  EXPECT_DOUBLE_EQ(learningRate(rate, 4, 50), 5.0 / 6);
  EXPECT_DOUBLE_EQ(learningRate(rate, 75, 100), 0.5);
}

TEST(LearningRate, aWarmUpLongerThanTheRunIsNoDivisionByZero) {
  plan::LearningRate rate{"cosine", 1.0, 0.1, 10};
  EXPECT_DOUBLE_EQ(learningRate(rate, 9, 10), 10.0 / 11);
}

TEST(ScheduleDoubt, namesBothLengths) {
  plan::LearningRate rate{"cosine", 1.0, 0.1, 10};
  EXPECT_EQ(scheduleDoubt(rate, 10), "");
  EXPECT_EQ(scheduleDoubt(rate, 9).rfind("`warmup` = 10 steps is longer than "
                                         "the run of 9 steps: ",
                                         0),
            0u);
}

} // namespace
} // namespace reciperun::train
