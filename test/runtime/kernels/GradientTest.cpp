// Each op's backward compared with central differences in double precision.
//
// The loss is the sum of the outputs times fixed random numbers, which are then
// the outputs' gradients. Errors are relative to the largest element of the
// gradient and must be below 1e-6: the differences are accurate to about 1e-9.

#include "runtime/ops/OpTable.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr double tolerance = 1e-6;

TEST(Gradient, Embedding) {
  Array tokens = Array::integers({2, 3}, {4, 0, 4, 1, 6, 4});
  Array table = real({7, 5}, 1), y(DType::f64, {2, 3, 5});
  Array dy = real({2, 3, 5}, 2), dtable = like(table);
  call(OpKind::EmbeddingBackward, {&tokens, &dy}, {&dtable});
  const Array expected = centralDifferences(table, [&] {
    call(OpKind::Embedding, {&tokens, &table}, {&y});
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dtable, expected), tolerance);
}

TEST(Gradient, EmbeddingAddsToTheGradient) {
  Array tokens = Array::integers({1, 1}, {1});
  Array dy = real({1, 1, 5}, 2), once(DType::f64, {3, 5}), twice = once;
  call(OpKind::EmbeddingBackward, {&tokens, &dy}, {&once});
  call(OpKind::EmbeddingBackward, {&tokens, &dy}, {&twice});
  call(OpKind::EmbeddingBackward, {&tokens, &dy}, {&twice});
  for (int64_t i = 0; i < once.size(); ++i)
    EXPECT_EQ(twice.get(i), 2 * once.get(i));
}

TEST(Gradient, Linear) {
  // Grouped dimensions on both sides: [2,3,(2,4)] to [2,3,(5,3)].
  Array x = real({2, 3, 2, 4}, 1), w = real({5, 3, 2, 4}, 2);
  Array y(DType::f64, {2, 3, 5, 3}), dy = real({2, 3, 5, 3}, 3);
  Array dx = like(x), dw = like(w);
  const Attributes attributes = {{"alpha", 0.7}};
  call(OpKind::LinearDgrad, {&dy, &w}, {&dx}, attributes);
  call(OpKind::LinearWgrad, {&x, &dy}, {&dw}, attributes);
  auto loss = [&] {
    call(OpKind::Linear, {&x, &w}, {&y}, attributes);
    return dot(y, dy);
  };
  EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
  EXPECT_LT(relativeError(dw, centralDifferences(w, loss)), tolerance);
}

TEST(Gradient, LinearWritesOrAddsToTheGradient) {
  Array x = real({5, 7}, 1), dy = real({5, 3}, 2);
  Array dw = real({3, 7}, 3), once = dw;
  call(OpKind::LinearWgrad, {&x, &dy}, {&once}, {{"accumulate", false}});
  Array twice = once;
  call(OpKind::LinearWgrad, {&x, &dy}, {&twice});
  call(OpKind::LinearWgrad, {&x, &dy}, {&dw});
  for (int64_t i = 0; i < once.size(); ++i)
    EXPECT_DOUBLE_EQ(twice.get(i), 2 * once.get(i));
  EXPECT_GT(relativeError(dw, once), 0.1);
}

TEST(Gradient, LinearAccumulates) {
  Array x = real({5, 7}, 1), w = real({3, 7}, 2), once(DType::f64, {5, 3});
  Array twice = once;
  call(OpKind::Linear, {&x, &w}, {&once});
  call(OpKind::Linear, {&x, &w}, {&twice});
  call(OpKind::Linear, {&x, &w}, {&twice}, {{"accumulate", true}});
  for (int64_t i = 0; i < once.size(); ++i)
    EXPECT_DOUBLE_EQ(twice.get(i), 2 * once.get(i));
}

TEST(Gradient, RmsNorm) {
  Array x = real({2, 3, 13}, 1), w = real({13}, 2), y = like(x);
  Array rstd(DType::f64, {2, 3}), dy = real({2, 3, 13}, 3);
  Array dx = like(x), dw = like(w);
  auto loss = [&] {
    call(OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, {{"eps", 1e-5}});
    return dot(y, dy);
  };
  loss();
  call(OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&dx, &dw});
  EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
  EXPECT_LT(relativeError(dw, centralDifferences(w, loss)), tolerance);
}

TEST(Gradient, RmsNormOfACenteredWeight) {
  Array x = real({5, 13}, 1), w = real({13}, 2), y = like(x);
  Array rstd(DType::f64, {5}), dy = real({5, 13}, 3);
  Array dx = like(x), dw = like(w);
  const Attributes attributes = {{"eps", 1e-5}, {"centered", true}};
  auto loss = [&] {
    call(OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, attributes);
    return dot(y, dy);
  };
  loss();
  call(OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&dx, &dw}, attributes);
  EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
  EXPECT_LT(relativeError(dw, centralDifferences(w, loss)), tolerance);
}

TEST(Gradient, RmsNormWithoutAWeight) {
  Array x = real({5, 13}, 1), y = like(x), dy = real({5, 13}, 3);
  Array rstd(DType::f64, {5}), dx = like(x);
  auto loss = [&] {
    call(OpKind::RmsNorm, {&x, nullptr}, {&y, &rstd}, {{"eps", 1e-5}});
    return dot(y, dy);
  };
  loss();
  call(OpKind::RmsNormBackward, {&dy, &x, nullptr, &rstd}, {&dx, nullptr});
  EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
}

TEST(Gradient, LayerNorm) {
  for (bool isCentered : {false, true}) {
    Array x = real({2, 3, 13}, 1), w = real({13}, 2), y = like(x);
    Array mean(DType::f64, {2, 3}), rstd = mean, dy = real({2, 3, 13}, 3);
    Array dx = like(x), dw = like(w), alone = like(x);
    const Attributes attributes = {{"eps", 1e-5}, {"centered", isCentered}};
    auto loss = [&] {
      call(OpKind::LayerNorm, {&x, &w}, {&y, &mean, &rstd}, attributes);
      return dot(y, dy);
    };
    loss();
    const std::vector<Array*> inputs = {&dy, &x, &w, &mean, &rstd};
    call(OpKind::LayerNormBackward, inputs, {&dx, &dw}, attributes);
    call(OpKind::LayerNormBackward, inputs, {&alone, nullptr}, attributes);
    EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
    EXPECT_LT(relativeError(dw, centralDifferences(w, loss)), tolerance);
    EXPECT_EQ(relativeError(alone, dx), 0);
  }
}

/// A weight with one row for each of a token's three rows acts as three
/// weights.
TEST(Gradient, NormsOfWeightsOfSeveralRows) {
  for (bool isCentered : {false, true})
    for (bool isLayerNorm : {false, true}) {
      Array x = real({2, 5, 3, 13}, 1), w = real({3, 13}, 2), y = like(x);
      Array mean(DType::f64, {2, 5, 3}),
          rstd = mean, dx = like(x), dw = like(w), dy = real({2, 5, 3, 13}, 3);
      const Attributes attributes = {{"eps", 1e-5}, {"centered", isCentered}};
      auto forward = [&](Array& from, Array& weight, Array& to) {
        if (isLayerNorm)
          call(OpKind::LayerNorm, {&from, &weight}, {&to, &mean, &rstd},
               attributes);
        else
          call(OpKind::RmsNorm, {&from, &weight}, {&to, &rstd}, attributes);
      };
      for (int64_t row = 0; row < 3; ++row) {
        Array own(DType::f64, {13}), all = like(x);
        for (int64_t j = 0; j < 13; ++j)
          own.set(j, w.get(row * 13 + j));
        forward(x, own, all);
        forward(x, w, y);
        for (int64_t i = row * 13; i < x.size(); i += 3 * 13)
          for (int64_t j = i; j < i + 13; ++j)
            EXPECT_EQ(y.get(j), all.get(j));
      }
      if (isLayerNorm)
        call(OpKind::LayerNormBackward, {&dy, &x, &w, &mean, &rstd}, {&dx, &dw},
             attributes);
      else
        call(OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&dx, &dw},
             attributes);
      auto loss = [&] {
        forward(x, w, y);
        return dot(y, dy);
      };
      EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
      EXPECT_LT(relativeError(dw, centralDifferences(w, loss)), tolerance);
    }
}

TEST(Gradient, Bias) {
  Array x = real({2, 40, 3, 4}, 1), b = real({3, 4}, 2), y = like(x);
  const Array dy = real({2, 40, 3, 4}, 3);
  Array from = dy, db = like(b);
  call(OpKind::BiasBackward, {&from}, {&db});
  auto loss = [&] {
    call(OpKind::AddBias, {&x, &b}, {&y});
    return dot(y, dy);
  };
  EXPECT_LT(relativeError(dy, centralDifferences(x, loss)), tolerance);
  EXPECT_LT(relativeError(db, centralDifferences(b, loss)), tolerance);
}

/// Checks the backward of a unary op that reads the operand.
void checkUnary(OpKind forward, OpKind backward,
                const Attributes& attributes = {}) {
  Array x = real({3, 7}, 1), y = like(x), dy = real({3, 7}, 2), dx = like(x);
  call(backward, {&dy, &x}, {&dx}, attributes);
  const Array expected = centralDifferences(x, [&] {
    call(forward, {&x}, {&y}, attributes);
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dx, expected), tolerance) << ops::opName(forward);
}

TEST(Gradient, Activations) {
  checkUnary(OpKind::Silu, OpKind::SiluBackward);
  checkUnary(OpKind::Gelu, OpKind::GeluBackward);
  checkUnary(OpKind::Gelu, OpKind::GeluBackward, {{"exact", true}});
  checkUnary(OpKind::Relu2, OpKind::Relu2Backward);
  checkUnary(OpKind::Sigmoid, OpKind::SigmoidBackward);
  checkUnary(OpKind::Softcap, OpKind::SoftcapBackward, {{"cap", 1.5}});
}

/// Checks the backward of a unary op that reads only the gradient.
void checkLinear(OpKind forward, OpKind backward, std::vector<int64_t> from,
                 std::vector<int64_t> to, const Attributes& attributes = {}) {
  Array x = real(from, 1), y(DType::f64, to), dy = real(to, 2), dx = like(x);
  call(backward, {&dy}, {&dx}, attributes);
  const Array expected = centralDifferences(x, [&] {
    call(forward, {&x}, {&y}, attributes);
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dx, expected), tolerance) << ops::opName(forward);
}

TEST(Gradient, RowsApartAndTogether) {
  checkLinear(OpKind::Narrow, OpKind::Pad, {2, 3, 7}, {2, 3, 4},
              {{"begin", int64_t(2)}});
  checkLinear(OpKind::Pad, OpKind::Narrow, {2, 3, 4}, {2, 3, 7},
              {{"begin", int64_t(2)}});
  checkLinear(OpKind::Narrow, OpKind::Pad, {2, 5, 3}, {2, 2, 3},
              {{"begin", int64_t(2)}, {"behind", int64_t(1)}});
  checkLinear(OpKind::Broadcast, OpKind::BroadcastBackward, {2, 3, 4},
              {2, 3, 5, 4});
}

TEST(Gradient, PositionScaleIsItsOwnTranspose) {
  Array x = real({2, 3, 4}, 1), y = like(x), dy = real({2, 3, 4}, 2),
        dx = like(x);
  Array positions = Array::integers({2, 3}, {0, 4, 17, 3, 5, 9});
  const Attributes attributes = {{"floor", 5.0}, {"scale", 0.1}};
  call(OpKind::PositionScale, {&dy, &positions}, {&dx}, attributes);
  const Array expected = centralDifferences(x, [&] {
    call(OpKind::PositionScale, {&x, &positions}, {&y}, attributes);
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dx, expected), tolerance);
  // Position 17 has passed 3 floors: 1 + 0.1 log 4.
  EXPECT_NEAR(y.get(8) / x.get(8), 1.13862943611198906, 1e-12);
  EXPECT_EQ(y.get(0), x.get(0));
}

TEST(Gradient, RmsNormOfAFrozenWeightGivesDxAlone) {
  Array x = real({4, 9}, 1), w = real({9}, 2), y = like(x),
        dy = real({4, 9}, 3);
  Array rstd(DType::f64, {4}), dx = like(x), alone = like(x), dw = like(w);
  call(OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, {{"eps", 1e-5}});
  call(OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&dx, &dw});
  call(OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&alone, nullptr});
  EXPECT_EQ(relativeError(alone, dx), 0);
}

TEST(Gradient, RopeIsUndoneByItsInverse) {
  Array x = real({2, 5, 3, 6}, 1), dy = real({2, 5, 3, 6}, 2);
  Array y = like(x), dx = like(x);
  Array positions = Array::integers({2, 5}, {0, 1, 2, 0, 1, 0, 1, 2, 3, 900});
  for (int64_t rotated : {6, 4, 2})
    for (bool isInterleaved : {false, true}) {
      Attributes attributes = {{"theta", 1e4},
                               {"rotated", rotated},
                               {"interleaved", isInterleaved},
                               {"inverse", true}};
      call(OpKind::Rope, {&dy, &positions}, {&dx}, attributes);
      attributes.erase("inverse");
      const Array expected = centralDifferences(x, [&] {
        call(OpKind::Rope, {&x, &positions}, {&y}, attributes);
        return dot(y, dy);
      });
      EXPECT_LT(relativeError(dx, expected), tolerance);
    }
}

struct AttentionCase {
  int64_t batch, sequence, heads, keyHeads, width;
  bool causal;
  std::vector<int64_t> segments;
};

std::vector<Array*> joined(std::vector<Array*> first,
                           const std::vector<Array*>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void checkAttention(const AttentionCase& c) {
  const std::vector<int64_t> queryShape = {c.batch, c.sequence, c.heads,
                                           c.width};
  const std::vector<int64_t> keyShape = {c.batch, c.sequence, c.keyHeads,
                                         c.width};
  Array q = real(queryShape, 1), k = real(keyShape, 2), v = real(keyShape, 3);
  Array segments = Array::integers({c.batch, c.sequence}, c.segments);
  Array places = placesOf(c.batch, c.sequence);
  const std::vector<Array*> tokens = {&segments, &places, &segments, &places};
  Array out = like(q), lse(DType::f64, {c.batch, c.heads, c.sequence});
  Array dout = real(queryShape, 4), dq = like(q), dk = like(k), dv = like(v);
  const Attributes attributes = {{"causal", c.causal}};
  auto loss = [&] {
    call(OpKind::Attention, joined({&q, &k, &v}, tokens), {&out, &lse},
         attributes);
    return dot(out, dout);
  };
  loss();
  call(OpKind::AttentionBackward,
       joined({&dout, &out, &q, &k, &v, &lse}, tokens), {&dq, &dk, &dv},
       attributes);
  EXPECT_LT(relativeError(dq, centralDifferences(q, loss)), tolerance);
  EXPECT_LT(relativeError(dk, centralDifferences(k, loss)), tolerance);
  EXPECT_LT(relativeError(dv, centralDifferences(v, loss)), tolerance);
}

TEST(Gradient, AttentionCausal) {
  checkAttention({1, 7, 2, 2, 5, true, std::vector<int64_t>(7, 0)});
}
TEST(Gradient, AttentionOverAllTokens) {
  checkAttention({1, 6, 2, 1, 8, false, std::vector<int64_t>(6, 0)});
}
TEST(Gradient, AttentionGroupedPackedAndPadded) {
  checkAttention(
      {2, 6, 4, 2, 3, true, {0, 0, 1, 1, 1, -1, 5, 5, 5, 5, -1, -1}});
}
TEST(Gradient, AttentionAcrossTiles) {
  std::vector<int64_t> segments(70, 3);
  std::fill(segments.begin() + 40, segments.end(), 4);
  checkAttention({1, 70, 1, 1, 2, true, segments});
}

/// Queries that are a subset of the row, in another order than the keys.
TEST(Gradient, AttentionOfSomeQueriesToAllKeys) {
  Array q = real({1, 4, 2, 3}, 1), k = real({1, 7, 1, 3}, 2),
        v = real({1, 7, 1, 3}, 3);
  Array querySegments = Array::integers({1, 4}, {0, 1, 1, 0}),
        queryPlaces = Array::integers({1, 4}, {1, 6, 3, 2}),
        keySegments = Array::integers({1, 7}, {1, 0, 0, 1, 1, 0, 1}),
        keyPlaces = Array::integers({1, 7}, {5, 2, 0, 3, 4, 1, 6});
  const std::vector<Array*> tokens = {&querySegments, &queryPlaces,
                                      &keySegments, &keyPlaces};
  Array out = like(q), lse(DType::f64, {1, 2, 4}), dout = real({1, 4, 2, 3}, 4);
  Array dq = like(q), dk = like(k), dv = like(v);
  auto loss = [&] {
    call(OpKind::Attention, joined({&q, &k, &v}, tokens), {&out, &lse});
    return dot(out, dout);
  };
  loss();
  call(OpKind::AttentionBackward,
       joined({&dout, &out, &q, &k, &v, &lse}, tokens), {&dq, &dk, &dv});
  EXPECT_LT(relativeError(dq, centralDifferences(q, loss)), tolerance);
  EXPECT_LT(relativeError(dk, centralDifferences(k, loss)), tolerance);
  EXPECT_LT(relativeError(dv, centralDifferences(v, loss)), tolerance);
}

TEST(Gradient, Swiglu) {
  Array gate = real({3, 7}, 1), up = real({3, 7}, 2), y = like(up);
  Array dy = real({3, 7}, 3), dgate = like(gate), dup = like(up);
  call(OpKind::SwigluBackward, {&dy, &gate, &up}, {&dgate, &dup});
  auto loss = [&] {
    call(OpKind::Swiglu, {&gate, &up}, {&y});
    return dot(y, dy);
  };
  EXPECT_LT(relativeError(dgate, centralDifferences(gate, loss)), tolerance);
  EXPECT_LT(relativeError(dup, centralDifferences(up, loss)), tolerance);
}

TEST(Gradient, MulIsAMulByTheOtherFactor) {
  Array a = real({3, 7}, 1), b = real({3, 7}, 2), y = like(a);
  Array dy = real({3, 7}, 3), da = like(a);
  call(OpKind::Mul, {&dy, &b}, {&da});
  const Array expected = centralDifferences(a, [&] {
    call(OpKind::Mul, {&a, &b}, {&y});
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(da, expected), tolerance);
}

TEST(Gradient, AddPassesItsGradientOn) {
  Array a = real({3, 7}, 1), b = real({3, 7}, 2), y = like(a);
  const Array dy = real({3, 7}, 3);
  const Array expected = centralDifferences(b, [&] {
    call(OpKind::Add, {&a, &b}, {&y});
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dy, expected), tolerance);
}

TEST(Gradient, ScaleIsAScale) {
  Array x = real({3, 7}, 1), y = like(x), dy = real({3, 7}, 2), dx = like(x);
  const Attributes attributes = {{"alpha", -2.5}};
  call(OpKind::Scale, {&dy}, {&dx}, attributes);
  const Array expected = centralDifferences(x, [&] {
    call(OpKind::Scale, {&x}, {&y}, attributes);
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dx, expected), tolerance);
}

TEST(Gradient, DropoutIsADropout) {
  Array x = real({2, 3, 7}, 1), y = like(x), dy = real({2, 3, 7}, 2);
  Array dx = like(x), samples = Array::integers({2}, {3, 8}, DType::i64);
  Array places = placesOf(2, 3);
  const Attributes attributes = {
      {"p", 0.4}, {"seed", int64_t(7)}, {"stream", int64_t(2)}};
  call(OpKind::Dropout, {&dy, &samples, &places}, {&dx}, attributes);
  const Array expected = centralDifferences(x, [&] {
    call(OpKind::Dropout, {&x, &samples, &places}, {&y}, attributes);
    return dot(y, dy);
  });
  EXPECT_LT(relativeError(dx, expected), tolerance);
}

TEST(Gradient, CrossEntropy) {
  Array logits = real({2, 3, 11}, 1), dlogits = like(logits);
  Array labels = Array::integers({2, 3}, {0, 10, 4, 4, -1, 7});
  Array weights = Array::random(DType::f32, {2, 3}, 2);
  weights.set(4, 0); // the token without a label
  Array scale(DType::f32, {1});
  scale.set(0, 0.25);
  Array m(DType::f64, {2, 3}), stats(DType::f64, {2, 3, 2});
  auto loss = [&] {
    Array sum(DType::f64, {1});
    call(OpKind::SoftmaxMax, {&logits}, {&m});
    call(OpKind::SoftmaxSum, {&logits, &m, &labels}, {&stats});
    call(OpKind::Nll, {&m, &stats, &weights, &scale}, {&sum});
    return sum.get(0);
  };
  loss();
  call(OpKind::CrossEntropyBackward,
       {&logits, &m, &stats, &labels, &weights, &scale}, {&dlogits});
  const Array expected = centralDifferences(logits, loss);
  EXPECT_LT(relativeError(dlogits, expected), tolerance);
}

} // namespace
} // namespace reciperun::kernels
