// AdamW and the gradient's norm against plain loops.

#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr double beta1 = 0.9, beta2 = 0.98, eps = 1e-8, decay = 0.1;

struct State {
  Array param, master, m, v;
};

State stateOf(DType compute) {
  const DType sums = accumulatorOf(compute);
  State state;
  state.master = Array::random(sums, {1000}, 1);
  state.param = state.master.cast(compute);
  state.m = state.v = Array(sums, {1000});
  return state;
}

/// One update; `shared`: the parameter is the master itself.
void step(State& state, Array& grad, double normSquared, double lr, int t,
          double clip, bool shared) {
  Array norm(DType::f64, {1}), rate(DType::f32, {1}), count(DType::i32, {1});
  norm.set(0, normSquared);
  rate.set(0, lr);
  count.set(0, t);
  call(OpKind::AdamW, {&grad, &norm, &rate, &count},
       {shared ? &state.master : &state.param, &state.master, &state.m,
        &state.v},
       {{"beta1", beta1},
        {"beta2", beta2},
        {"eps", eps},
        {"weight_decay", decay},
        {"clip", clip}});
}

void check(DType compute, double clip, double tolerance) {
  State state = stateOf(compute);
  const bool shared = compute != DType::bf16;
  Array expected = state.master.cast(DType::f64);
  std::vector<double> m(1000, 0.0), v(1000, 0.0);
  const double lr = double(float(0.01)), norm = 50;
  for (int t = 1; t <= 3; ++t) {
    Array grad =
        Array::random(accumulatorOf(compute), {1000}, unsigned(t) + 10);
    const double factor = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1;
    for (int64_t i = 0; i < 1000; ++i) {
      double &first = m[size_t(i)], &second = v[size_t(i)];
      const double g = grad.get(i) * factor;
      first = beta1 * first + (1 - beta1) * g;
      second = beta2 * second + (1 - beta2) * g * g;
      const double mean = first / (1 - std::pow(beta1, t));
      const double width = std::sqrt(second / (1 - std::pow(beta2, t))) + eps;
      expected.set(i, expected.get(i) -
                          lr * (mean / width + decay * expected.get(i)));
    }
    step(state, grad, norm * norm, lr, t, clip, shared);
  }
  EXPECT_LT(relativeError(state.master, expected), tolerance);
  if (!shared) {
    EXPECT_EQ(relativeError(state.param, state.master.cast(compute)), 0);
  }
}

TEST(AdamW, AgreesWithItsDefinition) {
  check(DType::f64, 0, 1e-14);
  check(DType::f32, 0, 1e-6);
  check(DType::bf16, 0, 1e-6); // the master copy is f32
}

TEST(AdamW, ClipsByTheNorm) {
  check(DType::f64, 1, 1e-14);
  check(DType::f64, 100, 1e-14); // a norm of 50 stays as it is
}

TEST(SumSquares, AddsTheScaledSum) {
  Array x = Array::random(DType::f32, {100001}, 3), sum(DType::f64, {1});
  sum.set(0, 5);
  call(OpKind::SumSquares, {&x}, {&sum}, {{"scale", 0.5}});
  EXPECT_NEAR(sum.get(0), 5 + dot(x, x) / 2, 1e-9 * sum.get(0));
}

TEST(SumSquares, ThreadsDoNotChangeIt) {
  Array x = Array::random(DType::f32, {99999}, 3);
  Array one(DType::f64, {1}), three = one;
  call(OpKind::SumSquares, {&x}, {&one}, {}, {{}, 0, 1});
  call(OpKind::SumSquares, {&x}, {&three}, {}, {{}, 0, 3});
  EXPECT_EQ(one.get(0), three.get(0));
}

} // namespace
} // namespace reciperun::kernels
