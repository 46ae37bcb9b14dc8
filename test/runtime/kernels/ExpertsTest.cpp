// Dispatch, the experts' linear and combine: the destinations of tokens, the
// results, and gradients compared with central differences.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr double gradientTolerance = 1e-6;

/// Two sequences of three tokens, dispatched to two groups of 2 experts with a
/// capacity of 6. ~1 has no slot, -1 is padding.
struct Tokens {
  Array x = real({2, 3, 5}, 1);
  Array choices = Array::integers({2, 3, 2}, {2, 0, 0, ~1, 2, 1, //
                                              0, 2, 1, 0, -1, -1});
  Array gates = real({2, 3, 2}, 2);
  Array rows = Array(DType::i32, {2, 3, 2});
  Array y = Array(DType::f64, {2, 6, 5});
  Array counts = Array(DType::i32, {2, 1, 2});
};

TEST(Experts, DispatchLaysTokensInTheirOrder) {
  Tokens t;
  call(OpKind::Dispatch, {&t.x, &t.choices, nullptr},
       {&t.y, &t.rows, &t.counts});
  const int64_t counts[] = {4, 2, 3, 0};
  for (int64_t e = 0; e < 4; ++e)
    EXPECT_EQ(t.counts.get(e), counts[e]);
  const int64_t rows[] = {6, 0, 1, -1, 7, 4, 2, 8, 5, 3, -1, -1};
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(t.rows.get(i), rows[i]);
    for (int64_t c = 0; rows[i] >= 0 && c < 5; ++c)
      EXPECT_EQ(t.y.get(rows[i] * 5 + c), t.x.get(i / 2 * 5 + c));
  }
  for (int64_t row : {9, 10, 11}) // slots without a token
    for (int64_t c = 0; c < 5; ++c)
      EXPECT_EQ(t.y.get(row * 5 + c), 0);
}

void expectRefused(Tokens& t, Array& y, Array& counts, const char* message) {
  device::CpuContext context(1);
  plan::Op op;
  op.kind = OpKind::Dispatch;
  op.name = "dispatch";
  const plan::Mesh mesh;
  const std::vector<device::Tensor> in = {t.x.tensor(), t.choices.tensor(), {}};
  const std::vector<device::Tensor> out = {y.tensor(), t.rows.tensor(),
                                           counts.tensor()};
  Status status = findKernel(op.kind)({op, in, out, {}, mesh, 0, context});
  EXPECT_EQ(status.message(), message);
}

TEST(Experts, DispatchRefusesMoreTokensThanPlaces) {
  Tokens t;
  Array y(DType::f64, {2, 5, 5});
  expectRefused(t, y, t.counts,
                "op `dispatch`: the experts from 0 on get 6 tokens, and have 5 "
                "places");
}

TEST(Experts, DispatchRefusesAnExpertThatIsNone) {
  Tokens t;
  Array counts(DType::i32, {2, 1, 1});
  expectRefused(t, t.y, counts, "op `dispatch`: a token chose expert 2 of 2");
}

TEST(Experts, GradientOfDispatch) {
  Tokens t;
  Array dy = real({2, 6, 5}, 3), dx = like(t.x);
  auto loss = [&] {
    call(OpKind::Dispatch, {&t.x, &t.choices, nullptr},
         {&t.y, &t.rows, &t.counts});
    return dot(t.y, dy);
  };
  loss();
  call(OpKind::DispatchBackward, {&dy, &t.rows, nullptr, nullptr},
       {&dx, nullptr});
  EXPECT_LT(relativeError(dx, centralDifferences(t.x, loss)),
            gradientTolerance);
}

TEST(Experts, GradientOfDispatchWithGates) {
  Tokens t;
  Array dy = real({2, 6, 5}, 3), dx = like(t.x), dgates = like(t.gates);
  auto loss = [&] {
    call(OpKind::Dispatch, {&t.x, &t.choices, &t.gates},
         {&t.y, &t.rows, &t.counts});
    return dot(t.y, dy);
  };
  loss();
  call(OpKind::DispatchBackward, {&dy, &t.rows, &t.x, &t.gates},
       {&dx, &dgates});
  EXPECT_LT(relativeError(dx, centralDifferences(t.x, loss)),
            gradientTolerance);
  EXPECT_LT(relativeError(dgates, centralDifferences(t.gates, loss)),
            gradientTolerance);
}

TEST(Experts, GradientOfCombine) {
  Tokens t;
  call(OpKind::Dispatch, {&t.x, &t.choices, nullptr},
       {&t.y, &t.rows, &t.counts});
  Array y = real({2, 6, 5}, 4), out = like(t.x), dout = real({2, 3, 5}, 5);
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
    EXPECT_LT(relativeError(dy, centralDifferences(y, loss)),
              gradientTolerance);
    if (isWeighted) {
      EXPECT_LT(relativeError(dgates, centralDifferences(t.gates, loss)),
                gradientTolerance);
    }
  }
}

TEST(Experts, PackingTakesRowsExpertByExpertAndBringsThemBack) {
  // Two blocks of 4 rows of two experts; 5 of the 6 rows fit.
  Array x = real({1, 8, 2}, 1),
        counts = Array::integers({1, 2, 2}, {1, 2, 2, 1});
  Array y(DType::f64, {1, 5, 2}), packed(DType::i32, {1, 1, 2});
  Array overflow(DType::f64, {2}), back = real({1, 8, 2}, 2);
  call(OpKind::PackRows, {&x, &counts}, {&y, &packed, &overflow});
  call(OpKind::UnpackRows, {&y, &counts}, {&back});
  EXPECT_EQ(packed.get(0), 3);
  EXPECT_EQ(packed.get(1), 2);
  EXPECT_EQ(overflow.get(0), 6);
  EXPECT_EQ(overflow.get(1), 1);
  const int64_t from[] = {0, 4, 5, 1, 2};
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(y.get(2 * i + 1), x.get(2 * from[i] + 1));
  for (int64_t row = 0; row < 8; ++row) {
    const bool isKept = std::find(from, from + 5, row) != from + 5;
    EXPECT_EQ(back.get(2 * row), isKept ? x.get(2 * row) : 0);
  }
}

TEST(Experts, PackingTakesRowsInPasses) {
  // The same rows in passes of 2 slots.
  Array x = real({1, 8, 2}, 1),
        counts = Array::integers({1, 2, 2}, {1, 2, 2, 1});
  const int64_t from[] = {0, 4, 5, 1, 2, 6};
  const int64_t ofExpert[][2] = {{2, 0}, {1, 1}, {0, 2}};
  Array sum(DType::f64, {1, 8, 2});
  for (int64_t pass = 0; pass < 3; ++pass) {
    Array y(DType::f64, {1, 2, 2}), packed(DType::i32, {1, 1, 2});
    Array beyond(DType::f64, {2}), back = real({1, 8, 2}, 2);
    const Attributes begin = {{"begin", 2 * pass}};
    call(OpKind::PackRows, {&x, &counts}, {&y, &packed, &beyond}, begin);
    call(OpKind::UnpackRows, {&y, &counts}, {&back}, begin);
    EXPECT_EQ(beyond.get(0), 6);
    EXPECT_EQ(beyond.get(1), 4 - 2 * pass);
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(packed.get(i), ofExpert[pass][i]);
      EXPECT_EQ(y.get(2 * i), x.get(2 * from[2 * pass + i]));
    }
    for (int64_t i = 0; i < 16; ++i)
      sum.set(i, sum.get(i) + back.get(i));
  }
  for (int64_t row = 0; row < 8; ++row) {
    const bool isSent = std::find(from, from + 6, row) != from + 6;
    EXPECT_EQ(sum.get(2 * row), isSent ? x.get(2 * row) : 0);
  }
}

TEST(Experts, PackingFillsPlacesThatAreNotTaken) {
  Array x = real({1, 8, 2}, 1),
        counts = Array::integers({1, 2, 2}, {1, 0, 0, 1});
  Array y = real({1, 3, 2}, 2);
  call(OpKind::PackRows, {&x, &counts}, {&y, nullptr, nullptr});
  EXPECT_EQ(y.get(2), x.get(8));
  EXPECT_EQ(y.get(4), 0);
}

/// y = w h, expert by expert, weighted by the gates: the gradient of the gates
/// comes from the rows of h and their gradients.
TEST(Experts, GradientOfGatesWithoutOutputsOfExperts) {
  Tokens t;
  call(OpKind::Dispatch, {&t.x, &t.choices, nullptr},
       {&t.y, &t.rows, &t.counts});
  Array h = real({2, 6, 2, 2}, 4), w = real({4, 5, 2, 2}, 5);
  Array y(DType::f64, {2, 6, 5}), out = like(t.x), dout = real({2, 3, 5}, 6);
  auto loss = [&] {
    call(OpKind::ExpertLinear, {&h, &w, &t.counts}, {&y});
    call(OpKind::Combine, {&y, &t.rows, &t.gates}, {&out});
    return dot(out, dout);
  };
  Array dy = like(y), dh = like(h), dots(DType::f64, {2, 6, 1});
  Array dgates = like(t.gates);
  call(OpKind::CombineBackward, {&dout, &t.rows, nullptr, &t.gates},
       {&dy, nullptr});
  call(OpKind::ExpertLinearDgrad, {&dy, &w, &t.counts}, {&dh});
  call(OpKind::RowDots, {&dh, &h}, {&dots});
  call(OpKind::GatesBackward, {&dots, &t.rows, &t.gates}, {&dgates});
  EXPECT_LT(relativeError(dgates, centralDifferences(t.gates, loss)),
            gradientTolerance);
  EXPECT_EQ(dgates.get(3), 0); // the choice without a slot
}

TEST(Experts, AGateOfZeroHasNoGradient) {
  Array dots = real({1, 2, 1}, 1), rows = Array::integers({1, 1, 2}, {1, 0});
  Array gates = real({1, 1, 2}, 2), dgates = like(gates);
  gates.set(0, 0);
  call(OpKind::GatesBackward, {&dots, &rows, &gates}, {&dgates});
  EXPECT_EQ(dgates.get(0), 0);
  EXPECT_EQ(dgates.get(1), dots.get(0) / gates.get(1));
}

TEST(Experts, SwigluBackwardWithDots) {
  const std::vector<int64_t> shape = {2, 3, 5};
  for (DType type : {DType::f64, DType::f32, DType::bf16}) {
    Array dy = real(shape, 1).cast(type), gate = real(shape, 2).cast(type),
          up = real(shape, 3).cast(type), y = like(dy);
    Array slopes[] = {like(dy), like(dy)}, alone[] = {like(dy), like(dy)};
    const DType math = type == DType::f64 ? type : DType::f32;
    Array dots(math, {2, 3, 1}), products(math, {2, 3, 1});
    call(OpKind::Swiglu, {&gate, &up}, {&y});
    call(OpKind::RowDots, {&dy, &y}, {&products});
    call(OpKind::SwigluBackward, {&dy, &gate, &up}, {&alone[0], &alone[1]});
    call(OpKind::SwigluBackwardDots, {&dy, &gate, &up},
         {&slopes[0], &slopes[1], &dots});
    for (int64_t i = 0; i < dy.size(); ++i)
      for (int o : {0, 1})
        EXPECT_EQ(slopes[o].get(i), alone[o].get(i));
    // Sums of 5 products in f32; a y in bf16 may differ by its last bit.
    for (int64_t i = 0; i < dots.size(); ++i)
      EXPECT_NEAR(dots.get(i), products.get(i),
                  type == DType::bf16 ? 0x1p-6 : 1e-5);
  }
}

/// Two experts whose rows come in two blocks of 80: one tall group, low and
/// empty ones, and unused rows after them.
struct ExpertRows {
  Array counts = Array::integers({1, 2, 2}, {3, 71, 0, 2});

  static bool isUsed(int64_t row) { return row < 74 || row == 80 || row == 81; }
  static int64_t expertOf(int64_t row) { return row < 3 ? 0 : 1; }
};
constexpr int64_t rowCount = 160;

TEST(Experts, GradientOfTheLinear) {
  const Place place = {{}, 0, 1};
  ExpertRows rows;
  for (bool isStacked : {false, true}) {
    Array x = real({1, rowCount, 2}, 1), dy = real({1, rowCount, 1, 3}, 2);
    Array w = isStacked ? real({2, 2, 1, 3}, 3) : real({2, 1, 3, 2}, 3);
    Array y = like(dy), dx = like(x), dw = like(w);
    const Attributes attributes = {{"stacked", isStacked}, {"alpha", 0.7}};
    call(OpKind::ExpertLinearDgrad, {&dy, &w, &rows.counts}, {&dx}, attributes);
    call(OpKind::ExpertLinearWgrad, {&x, &dy, &rows.counts}, {&dw}, attributes);
    auto loss = [&] {
      call(OpKind::ExpertLinear, {&x, &w, &rows.counts}, {&y}, attributes,
           place);
      return dot(y, dy);
    };
    EXPECT_LT(relativeError(dx, centralDifferences(x, loss)),
              gradientTolerance);
    EXPECT_LT(relativeError(dw, centralDifferences(w, loss)),
              gradientTolerance);
  }
}

TEST(Experts, LinearIsALinearForEachExpert) {
  ExpertRows rows;
  for (DType type : {DType::f32, DType::bf16}) {
    Array x = real({1, rowCount, 8}, 1).cast(type);
    Array w = real({2, 4, 8}, 2).cast(type);
    Array y = real({1, rowCount, 4}, 3).cast(type);
    call(OpKind::ExpertLinear, {&x, &w, &rows.counts}, {&y});
    for (int64_t e = 0; e < 2; ++e) {
      Array we(type, {4, 8}), ye(type, {rowCount, 4});
      for (int64_t i = 0; i < we.size(); ++i)
        we.set(i, w.get(e * we.size() + i));
      call(OpKind::Linear, {&x, &we}, {&ye});
      // Sums of 8 products in f32, in an order that oneDNN may choose.
      for (int64_t i = 0; i < ye.size(); ++i) {
        if (ExpertRows::isUsed(i / 4) && ExpertRows::expertOf(i / 4) == e) {
          EXPECT_NEAR(y.get(i), ye.get(i), type == DType::f32 ? 1e-5 : 0x1p-6);
        }
      }
    }
    for (int64_t i = 0; i < y.size(); ++i)
      if (!ExpertRows::isUsed(i / 4)) {
        EXPECT_EQ(y.get(i), 0);
      }
  }
}

TEST(Experts, LinearAddsWhereAsked) {
  ExpertRows rows;
  Array x = real({1, rowCount, 3}, 1), w = real({2, 4, 3}, 2);
  Array once(DType::f64, {1, rowCount, 4}), twice = once;
  call(OpKind::ExpertLinear, {&x, &w, &rows.counts}, {&once});
  call(OpKind::ExpertLinear, {&x, &w, &rows.counts}, {&twice});
  call(OpKind::ExpertLinear, {&x, &w, &rows.counts}, {&twice},
       {{"accumulate", true}});
  for (int64_t i = 0; i < once.size(); ++i)
    EXPECT_DOUBLE_EQ(twice.get(i), 2 * once.get(i));
}

TEST(Experts, LinearStaysInItsBlocksWhateverTheCounts) {
  Array counts = Array::integers({1, 2, 2}, {1 << 30, 5, -7, 90});
  Array x = real({1, rowCount, 3}, 1), w = real({2, 4, 3}, 2);
  Array y(DType::f64, {1, rowCount, 4});
  call(OpKind::ExpertLinear, {&x, &w, &counts}, {&y});
}

} // namespace
} // namespace reciperun::kernels
