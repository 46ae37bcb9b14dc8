// Ops that move data without computing: zero, cast, slice, parts of rows,
// embedding shards.

#include "runtime/ops/OpTable.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

TEST(Zero, ClearsEveryOutput) {
  Array a = Array::random(DType::f64, {3, 7}, 1);
  Array b = Array::random(DType::bf16, {100000}, 1);
  call(OpKind::Zero, {}, {&a, &b});
  for (int64_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a.get(i), 0);
  for (int64_t i = 0; i < b.size(); ++i)
    EXPECT_EQ(b.get(i), 0);
}

TEST(Cast, KeepsWhatTheTypeHolds) {
  Array x = Array::random(DType::f64, {99}, 1), y(DType::f64, {99});
  call(OpKind::Cast, {&x}, {&y});
  EXPECT_EQ(relativeError(y, x), 0);
  Array narrow(DType::f32, {99});
  call(OpKind::Cast, {&x}, {&narrow});
  EXPECT_LT(relativeError(narrow, x), 1e-7);
}

TEST(Cast, RoundsToNearestEven) {
  // 1 + 2^-8 is halfway between the bf16 numbers 1 and 1 + 2^-7; it rounds to
  // the even one, 1.
  Array x(DType::f32, {5}), y(DType::bf16, {5});
  x.set(0, 1 + 0x1p-8);
  x.set(1, 1 + 3 * 0x1p-8);
  x.set(2, 1 + 0x1p-8 + 0x1p-20);
  x.set(3, std::numeric_limits<double>::quiet_NaN());
  x.set(4, -std::numeric_limits<double>::infinity());
  call(OpKind::Cast, {&x}, {&y});
  EXPECT_EQ(y.get(0), 1);
  EXPECT_EQ(y.get(1), 1 + 0x1p-6);
  EXPECT_EQ(y.get(2), 1 + 0x1p-7);
  EXPECT_TRUE(std::isnan(y.get(3)));
  EXPECT_EQ(y.get(4), -std::numeric_limits<double>::infinity());
}

TEST(Slice, TakesTheRanksPart) {
  Array x = Array::random(DType::bf16, {3, 4, 5}, 1), y(DType::bf16, {3, 2, 5});
  const plan::Mesh mesh{{{"dp", 2}, {"tp", 2}}, {}, 4};
  for (int rank = 0; rank < 4; ++rank) {
    call(OpKind::Slice, {&x}, {&y},
         {{"dim", int64_t(1)}, {"axis", std::string("tp")}}, {mesh, rank, 2});
    for (int64_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y.get(i), x.get(i / 10 * 20 + rank % 2 * 10 + i % 10));
  }
}

const DType allTypes[] = {DType::bf16, DType::f32, DType::f64};

TEST(Rows, ComeApartAndTogetherAgain) {
  for (DType type : allTypes) {
    Array x = Array::random(type, {5, 20, 9}, 1), y = x;
    Array left(type, {5, 20, 4}), right(type, {5, 20, 5});
    call(OpKind::Narrow, {&x}, {&left}, {{"begin", int64_t(0)}});
    call(OpKind::Narrow, {&x}, {&right}, {{"begin", int64_t(4)}});
    for (int64_t i = 0; i < right.size(); ++i)
      EXPECT_EQ(right.get(i), x.get(i / 5 * 9 + 4 + i % 5));
    call(OpKind::Zero, {}, {&y});
    call(OpKind::Concat, {&left, &right}, {&y});
    EXPECT_EQ(relativeError(y, x), 0);
  }
}

/// A slice [5, 2, 7] of [5, 4, 7], and back.
TEST(Rows, SlicesOfADimensionThatAnotherFollows) {
  const Attributes second = {{"begin", int64_t(1)}, {"behind", int64_t(1)}};
  for (DType type : allTypes) {
    Array x = Array::random(type, {5, 4, 7}, 1), part(type, {5, 2, 7});
    Array one(type, {5, 7}); // a slice of one element without its dimension
    call(OpKind::Narrow, {&x}, {&part}, second);
    call(OpKind::Narrow, {&x}, {&one}, second);
    Array y = Array::random(type, {5, 4, 7}, 2); // previous contents
    call(OpKind::Pad, {&part}, {&y}, second);
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t row = i / 28, at = i / 7 % 4 - 1, column = i % 7;
      if (at == 0) {
        EXPECT_EQ(one.get(row * 7 + column), x.get(i));
      }
      if (at == 0 || at == 1) {
        EXPECT_EQ(part.get((row * 2 + at) * 7 + column), x.get(i));
      }
      EXPECT_EQ(y.get(i), at == 0 || at == 1 ? x.get(i) : 0);
    }
  }
}

TEST(Rows, ArePaddedWithZeros) {
  for (DType type : allTypes) {
    Array x = Array::random(type, {40, 3}, 1);
    Array y = Array::random(type, {40, 7}, 2); // previous contents
    call(OpKind::Pad, {&x}, {&y}, {{"begin", int64_t(2)}});
    for (int64_t i = 0; i < y.size(); ++i) {
      int64_t column = i % 7 - 2;
      EXPECT_EQ(y.get(i),
                column >= 0 && column < 3 ? x.get(i / 7 * 3 + column) : 0);
    }
  }
}

TEST(Rows, AreCopiedAndSummed) {
  for (DType type : allTypes) {
    Array x = Array::random(type, {40, 3}, 1), y(type, {40, 4, 3}), sum = x;
    call(OpKind::Broadcast, {&x}, {&y});
    for (int64_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y.get(i), x.get(i / 12 * 3 + i % 3));
    // Four times a number is exact in the same type.
    call(OpKind::BroadcastBackward, {&y}, {&sum});
    for (int64_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(sum.get(i), 4 * x.get(i));
  }
}

TEST(Embedding, ShardsSumToTheWhole) {
  Array tokens = Array::integers({1, 4}, {0, 3, 4, 5});
  Array table = Array::random(DType::f32, {6, 3}, 1);
  Array whole(DType::f32, {1, 4, 3}), sum = whole;
  call(OpKind::Embedding, {&tokens, &table}, {&whole});
  const plan::Mesh mesh{{{"tp", 2}}, {}, 2};
  for (int rank = 0; rank < 2; ++rank) {
    Array part(DType::f32, {3, 3}), out = whole;
    for (int64_t i = 0; i < 9; ++i)
      part.set(i, table.get(rank * 9 + i));
    call(OpKind::Embedding, {&tokens, &part}, {&out},
         {{"axis", std::string("tp")}}, {mesh, rank, 1});
    for (int64_t i = 0; i < sum.size(); ++i)
      sum.set(i, sum.get(i) + out.get(i));
  }
  EXPECT_EQ(relativeError(sum, whole), 0);
}

TEST(Embedding, BackwardOfAShardSkipsOtherTokens) {
  Array tokens = Array::integers({1, 4}, {0, 3, 4, 3});
  Array dy = Array::random(DType::bf16, {1, 4, 3}, 1);
  Array dtable(DType::f32, {3, 3});
  const plan::Mesh mesh{{{"tp", 2}}, {}, 2};
  call(OpKind::EmbeddingBackward, {&tokens, &dy}, {&dtable},
       {{"axis", std::string("tp")}}, {mesh, 1, 1});
  for (int64_t j = 0; j < 3; ++j) {
    EXPECT_EQ(dtable.get(j),
              double(float(dy.get(3 + j)) + float(dy.get(9 + j))));
    EXPECT_EQ(dtable.get(3 + j), dy.get(6 + j));
    EXPECT_EQ(dtable.get(6 + j), 0);
  }
}

TEST(Kernels, EveryOpButCollectivesHasOne) {
  for (const ops::OpInfo& op : ops::opTable())
    EXPECT_EQ(findKernel(op.kind) == nullptr,
              op.traits.isCollective || op.traits.isAlias)
        << op.name;
}

TEST(Kernels, RefuseIntegersThatAreToCompute) {
  Array x(DType::i32, {4}), y = x;
  plan::Op op;
  op.kind = OpKind::Silu;
  op.name = "layers.0.act";
  const device::Tensor in[] = {x.tensor()}, out[] = {y.tensor()};
  device::CpuContext context(1);
  const plan::Mesh mesh;
  const Status status =
      findKernel(OpKind::Silu)({op, in, out, {}, mesh, 0, context});
  EXPECT_NE(status.message().find("op `layers.0.act`: `silu` computes"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::kernels
