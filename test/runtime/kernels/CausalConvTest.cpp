// causal_conv and its gradient compared with the explicit sum, across tiles of
// channels and of tokens, over documents, for any number of threads.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

/// Consecutive documents of the given lengths over all sequences, then padding.
struct ConvProblem {
  int64_t sequences, tokens, groups, channels, taps;
  std::vector<int64_t> lengths;

  std::vector<int64_t> shape() const {
    return {sequences, tokens, groups, channels};
  }
  std::vector<int64_t> weightShape() const { return {groups, channels, taps}; }
  Array segments() const {
    Array result(DType::i32, {sequences, tokens});
    int64_t next = 0, document = 0;
    for (int64_t length : lengths)
      for (int64_t last = next + length; next < last; ++next)
        result.set(next, double(next == last - length ? ++document : document));
    for (; next < result.size(); ++next)
      result.set(next, -1);
    return result;
  }
};

/// Channels that do not fill whole tiles, documents within and across token
/// tiles, and one that is shorter than the kernel.
const ConvProblem across = {2, 300, 2, 35, 4, {2, 254, 3, 41, 290}};
const ConvProblem small = {2, 7, 2, 3, 3, {4, 1, 2, 5}};

Array plainConv(const ConvProblem& p, const Array& x, const Array& w) {
  Array y(DType::f64, p.shape());
  const Array segments = p.segments();
  const int64_t row = p.groups * p.channels;
  for (int64_t s = 0; s < p.sequences; ++s)
    for (int64_t t = 0; t < p.tokens; ++t)
      for (int64_t c = 0; c < row; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < p.taps; ++k) {
          const int64_t from = t - p.taps + 1 + k, at = s * p.tokens;
          if (from >= 0 && segments.get(at + from) == segments.get(at + t))
            sum += w.get(c * p.taps + k) * x.get((at + from) * row + c);
        }
        y.set((s * p.tokens + t) * row + c, sum);
      }
  return y;
}

struct ConvResults {
  Array y, dx, dw;
};

ConvResults ourConv(const ConvProblem& p, const Array& x, const Array& w,
                    const Array& dy, DType type, int threads = 2) {
  Array tx = x.cast(type), tw = w.cast(type), tdy = dy.cast(type);
  Array segments = p.segments();
  ConvResults r{Array(type, p.shape()), Array(type, p.shape()),
                Array(accumulatorOf(type), p.weightShape())};
  const Place place{{}, 0, threads};
  call(OpKind::CausalConv, {&tx, &tw, &segments}, {&r.y}, {}, place);
  call(OpKind::CausalConvBackward, {&tdy, &tx, &tw, &segments}, {&r.dx, &r.dw},
       {}, place);
  return r;
}

Array some(std::vector<int64_t> shape, unsigned seed) {
  return Array::random(DType::bf16, std::move(shape), seed).cast(DType::f64);
}

TEST(CausalConv, IsTheSumOverADocumentsTokens) {
  const ConvProblem longKernel = {1, 5, 1, 2, 9, {3, 2}};
  const ConvProblem noKernel = {1, 5, 1, 2, 1, {5}};
  for (const ConvProblem& p : {across, small, longKernel, noKernel}) {
    const Array x = some(p.shape(), 1), w = some(p.weightShape(), 2),
                dy = some(p.shape(), 3), plain = plainConv(p, x, w);
    const ConvResults exact = ourConv(p, x, w, dy, DType::f64);
    EXPECT_LT(relativeError(exact.y, plain), 1e-14);
    // y sums one term per tap; dw sums hundreds of terms.
    const ConvResults single = ourConv(p, x, w, dy, DType::f32);
    EXPECT_LT(relativeError(single.y, plain), 1e-6);
    EXPECT_LT(relativeError(single.dx, exact.dx), 1e-6);
    EXPECT_LT(relativeError(single.dw, exact.dw), 1e-6);
    // Computed in f32 and rounded once; dw is not rounded.
    const ConvResults half = ourConv(p, x, w, dy, DType::bf16);
    EXPECT_LT(relativeError(half.y, plain), 0x1p-8);
    EXPECT_LT(relativeError(half.dx, exact.dx), 0x1p-8);
    EXPECT_LT(relativeError(half.dw, exact.dw), 1e-6);
  }
}

/// The convolution is linear in x and in w: for y' = conv(x, w'), dy . y'
/// equals dw . w'; for y' = conv(x', w), it equals dx . x'.
TEST(CausalConv, GradientsAreItsTransposes) {
  for (const ConvProblem& p : {across, small}) {
    const Array x = some(p.shape(), 1), w = some(p.weightShape(), 2),
                dy = some(p.shape(), 3);
    const ConvResults ours = ourConv(p, x, w, dy, DType::f64);
    const Array otherX = some(p.shape(), 4), otherW = some(p.weightShape(), 5);
    const double byX = dot(dy, plainConv(p, otherX, w)),
                 byW = dot(dy, plainConv(p, x, otherW));
    EXPECT_NEAR(dot(ours.dx, otherX), byX, 1e-10);
    EXPECT_NEAR(dot(ours.dw, otherW), byW, 1e-10);
  }
}

TEST(CausalConv, GradientsAreThoseOfDifferences) {
  Array x = some(small.shape(), 1), w = some(small.weightShape(), 2);
  const Array dy = some(small.shape(), 3);
  const ConvResults ours = ourConv(small, x, w, dy, DType::f64);
  auto loss = [&] { return dot(dy, ourConv(small, x, w, dy, DType::f64).y); };
  // Central differences of a linear function are exact up to rounding, 1e-14 /
  // 1e-5.
  EXPECT_LT(relativeError(ours.dx, centralDifferences(x, loss)), 1e-8);
  EXPECT_LT(relativeError(ours.dw, centralDifferences(w, loss)), 1e-8);
}

TEST(CausalConv, ThreadsChangeNothing) {
  const Array x = some(across.shape(), 1), w = some(across.weightShape(), 2),
              dy = some(across.shape(), 3);
  const ConvResults one = ourConv(across, x, w, dy, DType::f32, 1);
  for (int threads : {2, 5}) {
    const ConvResults many = ourConv(across, x, w, dy, DType::f32, threads);
    EXPECT_EQ(relativeError(many.y, one.y), 0);
    EXPECT_EQ(relativeError(many.dx, one.dx), 0);
    EXPECT_EQ(relativeError(many.dw, one.dw), 0);
  }
}

TEST(CausalConv, GradientsThatNobodyWantsAreLeftOut) {
  Array x = some(small.shape(), 1), w = some(small.weightShape(), 2),
        dy = some(small.shape(), 3), segments = small.segments();
  const ConvResults both = ourConv(small, x, w, dy, DType::f64);
  Array dx(DType::f64, small.shape()), dw(DType::f64, small.weightShape());
  const std::vector<Array*> inputs = {&dy, &x, &w, &segments};
  call(OpKind::CausalConvBackward, inputs, {&dx, nullptr});
  call(OpKind::CausalConvBackward, inputs, {nullptr, &dw});
  EXPECT_EQ(relativeError(dx, both.dx), 0);
  EXPECT_EQ(relativeError(dw, both.dw), 0);
  // The weight's gradient accumulates.
  call(OpKind::CausalConvBackward, inputs, {nullptr, &dw});
  for (int64_t i = 0; i < dw.size(); ++i)
    EXPECT_EQ(dw.get(i), 2 * both.dw.get(i));
}

TEST(CausalConv, AGradientInBf16IsRoundedOnce) {
  Array x = some(across.shape(), 1).cast(DType::bf16),
        w = some(across.weightShape(), 2).cast(DType::bf16),
        dy = some(across.shape(), 3).cast(DType::bf16),
        segments = across.segments();
  Array narrow = some(across.weightShape(), 4).cast(DType::bf16),
        wide = narrow.cast(DType::f32);
  for (Array* dw : {&narrow, &wide})
    call(OpKind::CausalConvBackward, {&dy, &x, &w, &segments}, {nullptr, dw});
  EXPECT_EQ(relativeError(narrow, wide.cast(DType::bf16)), 0);
}

} // namespace
} // namespace reciperun::kernels
