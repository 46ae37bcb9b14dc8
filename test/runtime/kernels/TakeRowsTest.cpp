// take_rows: rows in any order, several times or not at all, and zeros.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

TEST(TakeRows, CopiesRowsAndZeros) {
  for (DType type : {DType::f32, DType::bf16, DType::f64}) {
    Array x = Array::random(type, {1, 5, 3, 7}, 1);
    const std::vector<int64_t> taken = {4, -1, 0, 0, 2, -1};
    Array rows = Array::integers({1, 6}, taken);
    Array y = Array::random(type, {1, 6, 3, 7}, 2); // previous contents
    call(OpKind::TakeRows, {&x, &rows}, {&y});
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t row = taken[size_t(i / 21)];
      EXPECT_EQ(y.get(i), row < 0 ? 0 : x.get(row * 21 + i % 21));
    }
  }
}

TEST(TakeRows, ReportsARowThatIsNotThere) {
  Array x(DType::f32, {1, 5, 2}), y(DType::f32, {1, 1, 2});
  Array rows = Array::integers({1, 1}, {5});
  plan::Op op;
  op.kind = OpKind::TakeRows;
  op.name = "last";
  const device::Tensor in[] = {x.tensor(), rows.tensor()}, out[] = {y.tensor()};
  device::CpuContext context(1);
  const plan::Mesh mesh;
  EXPECT_EQ(findKernel(OpKind::TakeRows)({op, in, out, {}, mesh, 0, context})
                .message(),
            "op `last`: row 5 lies outside of the 5 rows of its operand");
}

} // namespace
} // namespace reciperun::kernels
