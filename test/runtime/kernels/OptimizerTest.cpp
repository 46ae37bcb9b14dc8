// AdamW and the gradient norm compared with plain loops.

#include "runtime/device/MasterHalves.h"
#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <bit>
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

/// Runs one update on the given buffers.
void step(Array& param, Array& master, State& state, Array& grad,
          double normSquared, double lr, int t, double clip) {
  Array norm(DType::f64, {1}), rate(DType::f32, {1}), count(DType::i32, {1});
  norm.set(0, normSquared);
  rate.set(0, lr);
  count.set(0, t);
  call(OpKind::AdamW, {&grad, &norm, &rate, &count},
       {&param, &master, &state.m, &state.v},
       {{"beta1", beta1},
        {"beta2", beta2},
        {"eps", eps},
        {"weight_decay", decay},
        {"clip", clip}});
}

/// Runs one update; with `shared`, the parameter is its own master.
void step(State& state, Array& grad, double normSquared, double lr, int t,
          double clip, bool shared) {
  step(shared ? state.master : state.param, state.master, state, grad,
       normSquared, lr, t, clip);
}

/// The bf16 parameter of an f32 master.
double parameterOf(double master) {
  return std::bit_cast<float>(
      uint32_t(device::splitMaster(float(master)).parameter) << 16);
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
    for (int64_t i = 0; i < 1000; ++i)
      EXPECT_EQ(state.param.get(i), parameterOf(state.master.get(i)));
  }
}

TEST(AdamW, AgreesWithItsDefinition) {
  check(DType::f64, 0, 1e-14);
  check(DType::f32, 0, 1e-6);
  check(DType::bf16, 0, 1e-6); // the master copy is f32
}

TEST(AdamW, ClipsByTheNorm) {
  check(DType::f64, 1, 1e-14);
  check(DType::f64, 100, 1e-14); // a norm of 50 is not clipped
}

constexpr int64_t many = 1 << 17;

/// A state whose parameters equal the masters, as at the start of training.
State freshState() {
  State state;
  state.param = Array::random(DType::bf16, {many}, 1);
  state.master = state.param.cast(DType::f32);
  state.m = state.v = Array(DType::f32, {many});
  return state;
}

TEST(AdamW, RemaindersAreFullMastersToTheBit) {
  State whole = freshState(), split = freshState();
  Array remainder(DType::u16, {many});
  int64_t ties = 0;
  for (int t = 1; t <= 6; ++t) {
    Array grad = Array::random(DType::f32, {many}, unsigned(t) + 10);
    step(whole, grad, 4, 1e-3, t, 1, /*shared=*/false);
    step(split.param, remainder, split, grad, 4, 1e-3, t, 1);
    for (int64_t i = 0; i < many; ++i) {
      ASSERT_EQ(split.param.get(i), whole.param.get(i)) << i;
      auto bits = std::bit_cast<uint32_t>(float(whole.master.get(i)));
      ASSERT_EQ(uint32_t(remainder.get(i)), bits & 0xffff) << i;
      ties += (bits & 0xffff) == 0x8000;
    }
  }
  EXPECT_GT(ties, 0) << "the case that needs a rule has not come";
  EXPECT_EQ(relativeError(split.m, whole.m), 0);
}

TEST(AdamW, NarrowMastersAreTheParameters) {
  State whole = freshState(), narrow = freshState();
  for (int t = 1; t <= 3; ++t) {
    Array grad = Array::random(DType::f32, {many}, unsigned(t) + 10);
    whole.master = whole.param.cast(DType::f32); // drops the rounded-off bits
    step(whole, grad, 4, 1e-2, t, 0, /*shared=*/false);
    step(narrow.param, narrow.param, narrow, grad, 4, 1e-2, t, 0);
  }
  EXPECT_EQ(relativeError(narrow.param, whole.param), 0);
}

TEST(AdamW, ReadsNarrowGradients) {
  State whole = freshState(), narrow = freshState();
  Array grad = Array::random(DType::bf16, {many}, 7);
  Array wide = grad.cast(DType::f32);
  step(whole, wide, 4, 1e-2, 1, 0, /*shared=*/false);
  step(narrow, grad, 4, 1e-2, 1, 0, /*shared=*/false);
  EXPECT_EQ(relativeError(narrow.master, whole.master), 0);
}

TEST(AdamW, RoundsNarrowMomentsToNearest) {
  State state = freshState();
  state.m = state.v = Array(DType::bf16, {many});
  Array m(DType::bf16, {many}), v = m, expected = state.master;
  const double lr = double(float(1e-2));
  for (int t = 1; t <= 3; ++t) {
    Array grad = Array::random(DType::f32, {many}, unsigned(t) + 10);
    step(state, grad, 4, 1e-2, t, 0, /*shared=*/false);
    for (int64_t i = 0; i < many; ++i) {
      const double g = grad.get(i);
      const double first = beta1 * m.get(i) + (1 - beta1) * g;
      const double second = beta2 * v.get(i) + (1 - beta2) * g * g;
      m.set(i, first);
      v.set(i, second);
      const double width = std::sqrt(second / (1 - std::pow(beta2, t))) + eps;
      expected.set(i, expected.get(i) * (1 - lr * decay) -
                          lr * first / (1 - std::pow(beta1, t)) / width);
    }
  }
  // An f32 sum that rounds to the other side of the midpoint between two bf16
  // numbers, one in 2^16, differs by one bf16 unit from then on.
  int64_t apart = 0;
  for (int64_t i = 0; i < many; ++i) {
    EXPECT_NEAR(state.m.get(i), m.get(i), std::abs(m.get(i)) * 0x1p-6);
    EXPECT_NEAR(state.v.get(i), v.get(i), v.get(i) * 0x1p-6);
    apart += state.m.get(i) != m.get(i) || state.v.get(i) != v.get(i);
  }
  EXPECT_LT(apart, many >> 10);
  EXPECT_LT(relativeError(state.master, expected), 1e-4);
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
