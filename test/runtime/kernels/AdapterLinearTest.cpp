// adapter_linear: each token is multiplied with the matrix of its adapter.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

/// The element of w x for one token, in double.
double expected(const Array& x, const Array& w, int64_t adapter, int64_t token,
                int64_t row, int64_t in, int64_t out) {
  if (adapter < 0)
    return 0;
  double sum = 0;
  for (int64_t k = 0; k < in; ++k)
    sum += x.get(token * in + k) * w.get((adapter * out + row) * in + k);
  return sum;
}

TEST(AdapterLinear, MultipliesEachTokenWithItsOwnMatrix) {
  const int64_t in = 24, out = 7, count = 3;
  const std::vector<int64_t> adapters = {2, 2, -1, 0, 2, 1, 1, 1, -1};
  const auto tokens = int64_t(adapters.size());
  for (DType type : {DType::f32, DType::bf16, DType::f64}) {
    Array x = Array::random(type, {1, tokens, in}, 1);
    Array w = Array::random(type, {count * out, in}, 2);
    Array ids = Array::integers({1, tokens}, adapters);
    Array y = Array::random(type, {1, tokens, out}, 3);
    call(OpKind::AdapterLinear, {&x, &w, &ids}, {&y});
    const double tolerance = type == DType::bf16 ? 0x1p-6 : 1e-5;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t row = 0; row < out; ++row)
        EXPECT_NEAR(y.get(t * out + row),
                    expected(x, w, adapters[size_t(t)], t, row, in, out),
                    tolerance * 8)
            << t << ", " << row;
  }
}

TEST(AdapterLinear, RefusesAnAdapterThatIsNone) {
  Array x = Array::random(DType::f32, {1, 1, 4}, 1);
  Array w = Array::random(DType::f32, {2 * 3, 4}, 2);
  Array ids = Array::integers({1, 1}, {2});
  Array y(DType::f32, {1, 1, 3});
  plan::Op op;
  op.kind = OpKind::AdapterLinear;
  op.name = "q.lora_a";
  const device::Tensor in[] = {x.tensor(), w.tensor(), ids.tensor()},
                       out[] = {y.tensor()};
  device::CpuContext context(1);
  const plan::Mesh mesh;
  EXPECT_EQ(
      findKernel(OpKind::AdapterLinear)({op, in, out, {}, mesh, 0, context})
          .message(),
      "op `q.lora_a`: adapter 2 lies outside of the 2 of its operand");
}

} // namespace
} // namespace reciperun::kernels
