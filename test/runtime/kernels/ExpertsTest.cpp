// Dispatch, the experts' linear and combine: where tokens go, what they make,
// and their gradients against central differences.

#include "test/runtime/kernels/Harness.h"

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr double tolerance = 1e-6;

Array real(std::vector<int64_t> shape, unsigned seed) {
  return Array::random(DType::f64, std::move(shape), seed);
}
Array like(const Array& other) {
  return Array(other.dtype(), other.shape());
}

/// Two sequences of three tokens to 3 experts of 4 places. ~1 had no place, -1
/// is padding.
struct Tokens {
  Array x = real({2, 3, 5}, 1);
  Array choices = Array::integers({2, 3, 2}, {2, 0, 0, ~1, 2, 1, //
                                              0, 2, 1, 0, -1, -1});
  Array gates = real({2, 3, 2}, 2);
  Array rows = Array(DType::i32, {2, 3, 2});
  Array y = Array(DType::f64, {3, 4, 5});
};

TEST(Experts, DispatchLaysTokensInTheirOrder) {
  Tokens t;
  call(OpKind::Dispatch, {&t.x, &t.choices, nullptr}, {&t.y, &t.rows});
  const int64_t rows[] = {8, 0, 1, -1, 9, 4, 2, 10, 5, 3, -1, -1};
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(t.rows.get(i), rows[i]);
    for (int64_t c = 0; rows[i] >= 0 && c < 5; ++c)
      EXPECT_EQ(t.y.get(rows[i] * 5 + c), t.x.get(i / 2 * 5 + c));
  }
  for (int64_t row : {6, 7, 11}) // places that no token takes
    for (int64_t c = 0; c < 5; ++c)
      EXPECT_EQ(t.y.get(row * 5 + c), 0);
}

TEST(Experts, DispatchRefusesMoreTokensThanPlaces) {
  Tokens t;
  Array few(DType::f64, {3, 2, 5});
  device::CpuContext context(1);
  plan::Op op;
  op.kind = OpKind::Dispatch;
  op.name = "dispatch";
  const plan::Mesh mesh;
  const std::vector<device::Tensor> in = {t.x.tensor(), t.choices.tensor(), {}};
  const std::vector<device::Tensor> out = {few.tensor(), t.rows.tensor()};
  Status status = findKernel(op.kind)({op, in, out, {}, mesh, 0, context});
  EXPECT_EQ(status.message(),
            "op `dispatch`: expert 0 of 3 gets more than 2 tokens");
}

TEST(Experts, GradientOfDispatch) {
  Tokens t;
  Array dy = real({3, 4, 5}, 3), dx = like(t.x);
  auto loss = [&] {
    call(OpKind::Dispatch, {&t.x, &t.choices, nullptr}, {&t.y, &t.rows});
    return dot(t.y, dy);
  };
  loss();
  call(OpKind::DispatchBackward, {&dy, &t.rows, nullptr, nullptr},
       {&dx, nullptr});
  EXPECT_LT(relativeError(dx, centralDifferences(t.x, loss)), tolerance);
}

TEST(Experts, GradientOfDispatchWithGates) {
  Tokens t;
  Array dy = real({3, 4, 5}, 3), dx = like(t.x), dgates = like(t.gates);
  auto loss = [&] {
    call(OpKind::Dispatch, {&t.x, &t.choices, &t.gates}, {&t.y, &t.rows});
    return dot(t.y, dy);
  };
  loss();
  call(OpKind::DispatchBackward, {&dy, &t.rows, &t.x, &t.gates},
       {&dx, &dgates});
  EXPECT_LT(relativeError(dx, centralDifferences(t.x, loss)), tolerance);
  EXPECT_LT(relativeError(dgates, centralDifferences(t.gates, loss)),
            tolerance);
}

TEST(Experts, GradientOfCombine) {
  Tokens t;
  call(OpKind::Dispatch, {&t.x, &t.choices, nullptr}, {&t.y, &t.rows});
  Array y = real({3, 4, 5}, 4), out = like(t.x), dout = real({2, 3, 5}, 5);
  for (bool isWeighted : {true, false}) {
    Array *values = isWeighted ? &y : nullptr,
          *gates = isWeighted ? &t.gates : nullptr;
    Array dy = like(y), dgates = like(t.gates);
    auto loss = [&] {
      call(OpKind::Combine, {&y, &t.rows, gates}, {&out});
      return dot(out, dout);
    };
    call(OpKind::CombineBackward, {&dout, &t.rows, values, gates},
         {&dy, isWeighted ? &dgates : nullptr});
    EXPECT_LT(relativeError(dy, centralDifferences(y, loss)), tolerance);
    if (isWeighted) {
      EXPECT_LT(relativeError(dgates, centralDifferences(t.gates, loss)),
                tolerance);
    }
  }
}

/// Two experts of 66 places, two tiles each, of which the first has its tokens
/// in the first tile and the second in the last.
Array someRows(std::vector<int64_t> shape, unsigned seed) {
  Array x(DType::f64, shape);
  const Array values = real(shape, seed);
  const int64_t width = values.size() / (shape[0] * shape[1]);
  for (int64_t row : {0, 1, 2, 130, 131})
    for (int64_t c = 0; c < width; ++c)
      x.set(row * width + c, values.get(row * width + c));
  return x;
}

TEST(Experts, GradientOfTheLinear) {
  const Place place = {{}, 0, 1};
  for (bool isStacked : {false, true}) {
    Array x = someRows({2, 66, 2}, 1), dy = someRows({2, 66, 1, 3}, 2);
    Array w = isStacked ? real({2, 2, 1, 3}, 3) : real({2, 1, 3, 2}, 3);
    Array y = like(dy), dx = like(x), dw = like(w);
    const Attributes attributes = {{"stacked", isStacked}, {"alpha", 0.7}};
    call(OpKind::ExpertLinearDgrad, {&dy, &w}, {&dx}, attributes);
    call(OpKind::ExpertLinearWgrad, {&x, &dy}, {&dw}, attributes);
    auto loss = [&] {
      call(OpKind::ExpertLinear, {&x, &w}, {&y}, attributes, place);
      return dot(y, dy);
    };
    EXPECT_LT(relativeError(dx, centralDifferences(x, loss)), tolerance);
    EXPECT_LT(relativeError(dw, centralDifferences(w, loss)), tolerance);
  }
}

TEST(Experts, LinearIsALinearForEachExpert) {
  for (DType type : {DType::f32, DType::bf16}) {
    Array x = someRows({2, 66, 8}, 1).cast(type);
    Array w = real({2, 4, 8}, 2).cast(type), y(type, {2, 66, 4});
    call(OpKind::ExpertLinear, {&x, &w}, {&y});
    for (int64_t e = 0; e < 2; ++e) {
      Array xe(type, {66, 8}), we(type, {4, 8}), ye(type, {66, 4});
      for (int64_t i = 0; i < xe.size(); ++i)
        xe.set(i, x.get(e * xe.size() + i));
      for (int64_t i = 0; i < we.size(); ++i)
        we.set(i, w.get(e * we.size() + i));
      call(OpKind::Linear, {&xe, &we}, {&ye});
      // Sums of 8 products in f32, whose order oneDNN may choose.
      for (int64_t i = 0; i < ye.size(); ++i)
        EXPECT_NEAR(y.get(e * ye.size() + i), ye.get(i),
                    type == DType::f32 ? 1e-5 : 0x1p-6);
    }
  }
}

TEST(Experts, LinearAddsWhereAsked) {
  Array x = someRows({2, 66, 3}, 1), w = real({2, 4, 3}, 2);
  Array once(DType::f64, {2, 66, 4}), twice = once;
  call(OpKind::ExpertLinear, {&x, &w}, {&once});
  call(OpKind::ExpertLinear, {&x, &w}, {&twice});
  call(OpKind::ExpertLinear, {&x, &w}, {&twice}, {{"accumulate", true}});
  for (int64_t i = 0; i < once.size(); ++i)
    EXPECT_DOUBLE_EQ(twice.get(i), 2 * once.get(i));
}

} // namespace
} // namespace reciperun::kernels
