// Routing: choices and losses compared with their definitions, gradients
// compared with central differences.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr int64_t batch = 2, sequence = 7, experts = 8;

/// A routing of two sequences, the second of which ends in padding.
struct Route {
  explicit Route(Attributes attributes, int64_t choices = 2)
      : attributes(std::move(attributes)),
        logits(Array::random(DType::f64, {batch, sequence, experts}, 1)),
        segments(Array::integers({batch, sequence},
                                 {0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 2, 2, -1, -1})),
        weights(DType::f32, {batch, sequence}), scale(DType::f32, {1}),
        indices(DType::i32, {batch, sequence, choices}),
        gates(DType::f64, {batch, sequence, choices}), loss(DType::f64, {1}),
        load(DType::f64, {experts}), dropped(DType::f64, {2}) {
    for (int64_t i = 0; i < weights.size(); ++i)
      weights.set(i, i % 3 != 0 && segments.get(i) >= 0);
    scale.set(0, 0.0625);
  }

  void run() {
    loss.set(0, 0);
    call(OpKind::Route,
         {&logits, &segments, hasBias ? &bias : nullptr, &weights, &scale},
         {&indices, &gates, &loss, &load, &dropped}, attributes);
  }

  int64_t choice(int64_t token, int64_t j) const {
    return int64_t(indices.get(token * indices.shape()[2] + j));
  }
  double gate(int64_t token, int64_t j) const {
    return gates.get(token * indices.shape()[2] + j);
  }

  Attributes attributes;
  Array logits, segments, weights, scale, indices, gates, loss;
  Array load, dropped; // of all runs
  Array bias = Array(DType::f32, {experts});
  bool hasBias = false;
};

bool isPadding(int64_t token) {
  return token >= 12;
}

TEST(Route, GatesAreTheSoftmaxOverTheChosenLogits) {
  // Mixtral's definition: a softmax over the logits of the chosen experts.
  Route route({});
  route.run();
  for (int64_t t = 0; t < batch * sequence; ++t) {
    if (isPadding(t))
      continue;
    std::vector<double> logits;
    for (int64_t e = 0; e < experts; ++e)
      logits.push_back(route.logits.get(t * experts + e));
    std::sort(logits.rbegin(), logits.rend());
    const double sum = std::exp(logits[0]) + std::exp(logits[1]);
    for (int64_t j = 0; j < 2; ++j) {
      EXPECT_EQ(route.logits.get(t * experts + route.choice(t, j)),
                logits[size_t(j)]);
      EXPECT_NEAR(route.gate(t, j), std::exp(logits[size_t(j)]) / sum, 1e-12);
    }
  }
}

TEST(Route, PaddingGoesNowhere) {
  Route route({});
  route.run();
  for (int64_t t : {12, 13})
    for (int64_t j = 0; j < 2; ++j) {
      EXPECT_EQ(route.choice(t, j), -1);
      EXPECT_EQ(route.gate(t, j), 0);
    }
}

TEST(Route, SigmoidGatesAreScoresTimesTheScale) {
  Route route({{"score", std::string("sigmoid")},
               {"normalize", false},
               {"scale", 2.5}});
  route.run();
  const double logit = route.logits.get(route.choice(0, 1));
  EXPECT_NEAR(route.gate(0, 1), 2.5 / (1 + std::exp(-logit)), 1e-12);
}

TEST(Route, BiasDecidesTheChoiceAndNotTheGate) {
  Route route({{"score", std::string("sigmoid")}, {"normalize", false}});
  route.hasBias = true;
  route.bias.set(5, 10);
  route.run();
  EXPECT_EQ(route.choice(3, 0), 5);
  const double logit = route.logits.get(3 * experts + 5);
  EXPECT_NEAR(route.gate(3, 0), 1 / (1 + std::exp(-logit)), 1e-12);
}

TEST(Route, ChoosesWithinTheBestGroups) {
  Route route({{"groups", int64_t(4)}, {"top_groups", int64_t(1)}});
  // Expert 0 has the largest logit, experts 2 and 3 the largest sum.
  const double logits[experts] = {3, -9, 2.5, 2.9, 0, 0, 1, 1};
  for (int64_t e = 0; e < experts; ++e)
    route.logits.set(e, logits[e]);
  route.run();
  EXPECT_EQ(route.choice(0, 0), 3);
  EXPECT_EQ(route.choice(0, 1), 2);
}

TEST(Route, AnExpertKeepsItsLargestGates) {
  Route all({}), some({{"limit", int64_t(1)}});
  all.run();
  some.run();
  int dropped = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t e = 0; e < experts; ++e) {
      double largest = 0;
      auto each = [&](auto body) {
        for (int64_t t = b * sequence; t < (b + 1) * sequence; ++t)
          for (int64_t j = 0; j < 2; ++j)
            if (all.choice(t, j) == e)
              body(t, j);
      };
      each([&](int64_t t, int64_t j) {
        largest = std::max(largest, all.gate(t, j));
      });
      each([&](int64_t t, int64_t j) {
        const bool isKept = all.gate(t, j) == largest;
        dropped += !isKept;
        EXPECT_EQ(some.choice(t, j), isKept ? e : ~e);
        EXPECT_EQ(some.gate(t, j), isKept ? largest : 0);
      });
    }
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(some.dropped.get(0), 12 * 2);
  EXPECT_EQ(some.dropped.get(1), dropped);
  EXPECT_EQ(all.dropped.get(1), 0);
}

TEST(Route, LoadCountsChoicesWithAPlaceOrWithout) {
  Route route({{"limit", int64_t(1)}});
  route.run();
  route.run();
  for (int64_t e = 0; e < experts; ++e) {
    double count = 0;
    for (int64_t i = 0; i < 12 * 2; ++i)
      count +=
          route.choice(i / 2, i % 2) == e || route.choice(i / 2, i % 2) == ~e;
    EXPECT_EQ(route.load.get(e), 2 * count);
  }
}

TEST(BalanceExperts, MovesTheBiasAgainstTheLoad) {
  Array load(DType::f64, {4}), bias(DType::f32, {4});
  const double loads[] = {5, 3, 4, 4}, expected[] = {-0.25, 0.25, 0, 0};
  for (int64_t e = 0; e < 4; ++e)
    load.set(e, loads[e]);
  bias.set(3, 7);
  call(OpKind::BalanceExperts, {&load}, {&bias}, {{"rate", 0.25}});
  for (int64_t e = 0; e < 4; ++e)
    EXPECT_EQ(bias.get(e), expected[e] + (e == 3 ? 7 : 0));
}

TEST(Route, LossesOfEqualLogitsAreKnown) {
  // Scores of 1/8 each: the sum over experts of n_e / (k n) / 8 is 1/8, times 8
  // experts 1. The sequences' weights are 4 each, half of the scale's 16.
  Route route({{"aux_loss", 0.5}});
  for (int64_t i = 0; i < route.logits.size(); ++i)
    route.logits.set(i, 0.25);
  route.run();
  EXPECT_NEAR(route.loss.get(0), 0.5 / 2, 1e-12);
  route.attributes = {{"z_loss", 0.5}, {"share", 0.25}};
  route.run();
  const double logSum = 0.25 + std::log(8.0);
  EXPECT_NEAR(route.loss.get(0), 0.25 * 0.5 * logSum * logSum / 2, 1e-12);
}

TEST(Route, LossIsThatOfEachSequenceByItself) {
  Route both({{"aux_loss", 1.0}, {"z_loss", 0.1}});
  both.run();
  double sum = 0;
  for (int64_t b = 0; b < batch; ++b) {
    Route one(both.attributes);
    for (int64_t t = 0; t < batch * sequence; ++t)
      if (t / sequence != b) {
        one.segments.set(t, -1);
        one.weights.set(t, 0);
      }
    one.run();
    sum += one.loss.get(0);
  }
  EXPECT_NEAR(both.loss.get(0), sum, 1e-12);
}

void checkGradient(const Attributes& attributes, int64_t choices = 2) {
  Route route(attributes, choices);
  Array dgates = Array::random(DType::f64, route.gates.shape(), 3);
  Array dlogits(DType::f64, route.logits.shape());
  auto loss = [&] {
    route.run();
    return route.loss.get(0) + dot(route.gates, dgates);
  };
  loss();
  Array indices = route.indices;
  call(OpKind::RouteBackward,
       {&dgates, &route.logits, &route.segments, &indices, &route.weights,
        &route.scale},
       {&dlogits}, attributes);
  EXPECT_LT(relativeError(dlogits, centralDifferences(route.logits, loss)),
            1e-6);
}

TEST(RouteGradient, Softmax) {
  checkGradient({});
}
TEST(RouteGradient, SoftmaxOfThreeScaledAndNotNormalized) {
  checkGradient({{"normalize", false}, {"scale", 1.5}}, 3);
}
TEST(RouteGradient, SoftmaxWithLosses) {
  checkGradient({{"aux_loss", 2.0}, {"z_loss", 0.3}});
}
TEST(RouteGradient, SoftmaxWithDroppedTokens) {
  checkGradient({{"aux_loss", 2.0}, {"limit", int64_t(1)}});
}
TEST(RouteGradient, SigmoidInGroupsWithLosses) {
  checkGradient({{"score", std::string("sigmoid")},
                 {"scale", 2.5},
                 {"groups", int64_t(4)},
                 {"top_groups", int64_t(2)},
                 {"aux_loss", 2.0},
                 {"z_loss", 0.3}});
}
TEST(RouteGradient, SigmoidOfOneNotNormalized) {
  checkGradient({{"score", std::string("sigmoid")}, {"normalize", false}}, 1);
}

TEST(RouteGradient, WithoutGatesIsThatOfTheLosses) {
  Route route({{"aux_loss", 2.0}});
  route.run();
  Array dlogits(DType::f64, route.logits.shape());
  call(OpKind::RouteBackward,
       {nullptr, &route.logits, &route.segments, &route.indices, &route.weights,
        &route.scale},
       {&dlogits}, route.attributes);
  const Array expected = centralDifferences(route.logits, [&] {
    route.run();
    return route.loss.get(0);
  });
  EXPECT_LT(relativeError(dlogits, expected), 1e-6);
}

// f32 gates and gradients lose 6e-8 per step over sums of 8 scores. bf16 ones
// equal f32 on rounded logits, with the gradient rounded once.
TEST(Route, NarrowTypesAgreeWithDouble) {
  for (DType type : {DType::f32, DType::bf16}) {
    const Attributes attributes = {{"aux_loss", 2.0}, {"z_loss", 0.3}};
    Route narrow(attributes), wide(attributes);
    narrow.logits = narrow.logits.cast(type);
    narrow.gates = narrow.gates.cast(DType::f32);
    wide.logits = narrow.logits.cast(DType::f64);
    narrow.run();
    wide.run();
    EXPECT_LT(relativeError(narrow.gates, wide.gates), 1e-6);
    EXPECT_NEAR(narrow.loss.get(0), wide.loss.get(0), 1e-6 * wide.loss.get(0));
    const Array dgates = Array::random(DType::f64, wide.gates.shape(), 3);
    Array dnarrow = dgates.cast(DType::f32), dwide = dnarrow.cast(DType::f64);
    Array left(type, wide.logits.shape()), right(DType::f64, left.shape());
    call(OpKind::RouteBackward,
         {&dnarrow, &narrow.logits, &narrow.segments, &narrow.indices,
          &narrow.weights, &narrow.scale},
         {&left}, attributes);
    call(OpKind::RouteBackward,
         {&dwide, &wide.logits, &wide.segments, &wide.indices, &wide.weights,
          &wide.scale},
         {&right}, attributes);
    EXPECT_LT(relativeError(left, right), type == DType::f32 ? 1e-6 : 0x1p-8);
  }
}

} // namespace
} // namespace reciperun::kernels
