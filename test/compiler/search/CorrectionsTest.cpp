// What full compilations teach about predictions.

#include "compiler/search/Corrections.h"

#include <gtest/gtest.h>

namespace recipec::search {
namespace {

Outcome outcome(double seconds, int64_t bytes) {
  Outcome outcome;
  outcome.isValid = true;
  outcome.stepSeconds = seconds;
  outcome.memory.total = bytes;
  return outcome;
}

TEST(Corrections, NothingIsCorrectedAtFirst) {
  const Prediction same = Corrections().apply({}, {10, 100});
  EXPECT_DOUBLE_EQ(same.seconds, 10);
  EXPECT_DOUBLE_EQ(same.bytes, 100);
}

TEST(Corrections, TheMeanOfEqualPipelines) {
  Corrections corrections;
  const Layout pipeline{.pp = 4, .vp = 2};
  corrections.learn(pipeline, {10, 100}, outcome(11, 90));
  corrections.learn(pipeline, {10, 100}, outcome(13, 90));
  corrections.learn({.pp = 1}, {10, 100}, outcome(40, 400));
  const Prediction corrected =
      corrections.apply({.tp = 2, .pp = 4, .vp = 2}, {10, 100});
  EXPECT_DOUBLE_EQ(corrected.seconds, 12);
  EXPECT_DOUBLE_EQ(corrected.bytes, 90);
}

TEST(Corrections, SimilarPipelinesWhereNoneIsEqual) {
  Corrections corrections;
  corrections.learn({.pp = 4, .vp = 2}, {10, 100}, outcome(12, 100));
  corrections.learn({.pp = 4}, {10, 100}, outcome(20, 100));
  EXPECT_DOUBLE_EQ(corrections.apply({.pp = 8, .vp = 4}, {10, 1}).seconds, 12);
  EXPECT_DOUBLE_EQ(corrections.apply({.pp = 8}, {10, 1}).seconds, 20);
  EXPECT_DOUBLE_EQ(corrections.apply({}, {10, 1}).seconds, 16);
}

TEST(Corrections, InvalidLayoutsTeachNothing) {
  Corrections corrections;
  corrections.learn({}, {10, 100}, Outcome{});
  EXPECT_DOUBLE_EQ(corrections.apply({}, {10, 100}).seconds, 10);
}

} // namespace
} // namespace recipec::search
