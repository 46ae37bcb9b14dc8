// A linear layer and its gradients on a GPU compared with their CPU twins,
// which compute the same inputs in f64.
//
// Accumulating into bf16 has no tolerance: cuBLASLt rounds the matmul before it
// adds, and then the sum; some kernels round once. The result must be exactly
// one of the two, given the error bound of an f32 sum.

#include "runtime/ops/OpKind.h"
#include "runtime/plan/OpCheck.h"
#include "test/runtime/kernels/CudaMatrixCalls.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;
using CudaLinear = OnGpu;

struct LinearCase {
  int64_t tokens, out, in;
  double alpha = 1;
  bool accumulate = false;
};

double inBf16(double value) {
  return double(float(device::bf16(float(value))));
}

/// Expects one of two exact roundings of a matmul accumulated into bf16: of the
/// sum, or of the matmul and then the sum. The matmul is known up to the error
/// of f32 sums.
void expectAdded(const std::string& what, const Array& start, const Array& got,
                 const Array& wanted) {
  auto once = [](double sum, double) { return inBf16(sum); };
  auto twice = [](double product, double before) {
    return inBf16(inBf16(product) + before);
  };
  double largest = 0;
  for (int64_t i = 0; i < got.size(); ++i)
    largest = std::max(largest, std::abs(wanted.get(i) - start.get(i)));
  const double lost = matmulTolerance(DType::f32) * largest;
  int64_t byOne = 0, byTwo = 0, byBoth = 0, at = -1, wrong = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double before = start.get(i), value = got.get(i);
    const double sum = wanted.get(i), product = sum - before;
    const bool one =
        once(sum - lost, before) <= value && value <= once(sum + lost, before);
    const bool two = twice(product - lost, before) <= value &&
                     value <= twice(product + lost, before);
    ++(one && two ? byBoth : one ? byOne : two ? byTwo : wrong);
    at = one || two ? at : i;
  }
  std::printf("  %-58s rounded once %lld, twice %lld, either %lld\n",
              what.c_str(), (long long)(byOne), (long long)(byTwo),
              (long long)(byBoth));
  EXPECT_EQ(wrong, 0) << what << ": element " << at << " is " << got.get(at)
                      << ", of " << start.get(at) << " and "
                      << wanted.get(at) - start.get(at);
  // A kernel rounds all of its sums in the same way.
  EXPECT_TRUE(byOne == 0 || byTwo == 0) << what;
}

void checkLinear(const LinearCase& c, DType type) {
  const std::string what = std::to_string(c.tokens) + " x " +
                           std::to_string(c.out) + " x " +
                           std::to_string(c.in) + " " + ops::dtypeName(type);
  const Attributes attributes = {{"alpha", c.alpha},
                                 {"accumulate", c.accumulate}};
  Array x = Array::random(type, {c.tokens, c.in}, 1);
  Array w = Array::random(type, {c.out, c.in}, 2);
  Array dy = Array::random(type, {c.tokens, c.out}, 3);
  auto check = [&](const char* name, OpKind kind, Array& a, Array& b,
                   const Array& start) {
    Array a64 = a.cast(DType::f64), b64 = b.cast(DType::f64);
    Array wanted = start.cast(DType::f64), got = start;
    call(kind, {&a64, &b64}, {&wanted}, attributes);
    callOnGpu(kind, {&a, &b}, {&got}, attributes);
    const std::string title =
        name + (" " + what) + " into " + ops::dtypeName(start.dtype());
    if (c.accumulate && start.dtype() == DType::bf16)
      expectAdded(title, start, got, wanted);
    else
      expectClose(title, got, wanted, matmulTolerance(start.dtype()));
  };
  check("linear", OpKind::Linear, x, w,
        Array::random(type, {c.tokens, c.out}, 4));
  check("dgrad", OpKind::LinearDgrad, dy, w,
        Array::random(type, {c.tokens, c.in}, 5));
  check("wgrad", OpKind::LinearWgrad, x, dy,
        Array::random(type, {c.out, c.in}, 6));
  if (type == DType::bf16)
    check("wgrad", OpKind::LinearWgrad, x, dy,
          Array::random(DType::f32, {c.out, c.in}, 6));
}

TEST_F(CudaLinear, AgreesWithTheCpu) {
  for (DType type : {DType::f32, DType::bf16}) {
    checkLinear({128, 256, 64}, type);
    checkLinear({200, 136, 72, 0.5, true}, type);
    checkLinear({1, 8, 8}, type);
    checkLinear({37, 19, 53, -1.5, false}, type);
    checkLinear({33, 130, 1, 1, true}, type);
  }
}

// The kernels for few rows: up to four, and one and two tiles of tensor cores.
TEST_F(CudaLinear, MultipliesFewRows) {
  for (int64_t rows : {1, 2, 3, 4, 5, 8, 9, 16, 17}) {
    checkLinear({rows, 1001, 512}, DType::bf16);
    checkLinear({rows, 50, 1056, 0.5, true}, DType::bf16);
  }
}

} // namespace
} // namespace reciperun::kernels
