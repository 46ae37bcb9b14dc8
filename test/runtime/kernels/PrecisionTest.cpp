// The f32 and bf16 kernels compared with their f64 twins.
//
// Inputs are rounded to the type first, so that only the kernel's own rounding
// shows. Errors are relative to the largest element. f32: sums of up to a few
// hundred terms lose at most about 1e-6. bf16: computed in f32 and rounded once
// to 8 bits, 2^-9 of each element, twice that when an input was a rounded
// intermediate. Sums into f32 gradients of bf16 inputs are as accurate as f32.

#include "runtime/ops/OpTable.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr double single = 1e-6;
constexpr double half = 0x1p-8;

/// Shapes of the outputs: `rounded` ones have the type under test,
/// `accumulated` ones its accumulator type.
struct Outputs {
  std::vector<std::vector<int64_t>> rounded, accumulated;
};

std::vector<Array> run(OpKind kind, const std::vector<Array>& inputs,
                       const Outputs& outputs, const Attributes& attributes,
                       DType type) {
  std::vector<Array> in, out;
  for (const Array& input : inputs)
    in.push_back(input.dtype() == DType::bf16 ? input.cast(type) : input);
  for (const auto& shape : outputs.rounded)
    out.emplace_back(type, shape);
  for (const auto& shape : outputs.accumulated)
    out.emplace_back(accumulatorOf(type), shape);
  std::vector<Array*> inPointers, outPointers;
  for (Array& array : in)
    inPointers.push_back(&array);
  for (Array& array : out)
    outPointers.push_back(&array);
  call(kind, inPointers, outPointers, attributes);
  return out;
}

/// Casts bf16 inputs to each type; other inputs are passed unchanged.
void check(OpKind kind, const std::vector<Array>& inputs,
           const Outputs& outputs, const Attributes& attributes = {}) {
  const auto exact = run(kind, inputs, outputs, attributes, DType::f64);
  const auto f32 = run(kind, inputs, outputs, attributes, DType::f32);
  const auto bf16 = run(kind, inputs, outputs, attributes, DType::bf16);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LT(relativeError(f32[i], exact[i]), single) << ops::opName(kind);
    const double bound = i < outputs.rounded.size() ? half : single;
    EXPECT_LT(relativeError(bf16[i], exact[i]), bound) << ops::opName(kind);
  }
}

Array some(std::vector<int64_t> shape, unsigned seed) {
  return Array::random(DType::bf16, std::move(shape), seed);
}

TEST(Precision, Linear) {
  // Odd sizes, LoRA's skinny matrices, one token.
  const int64_t sizes[][3] = {
      {37, 53, 71}, {64, 128, 96}, {33, 8, 65}, {33, 65, 8}, {1, 40, 100}};
  for (const auto& [t, n, k] : sizes) {
    const Array x = some({t, k}, 1), w = some({n, k}, 2), dy = some({t, n}, 3);
    check(OpKind::Linear, {x, w}, {{{t, n}}, {}});
    check(OpKind::Linear, {x, w}, {{{t, n}}, {}}, {{"alpha", 0.5}});
    check(OpKind::LinearDgrad, {dy, w}, {{{t, k}}, {}});
    check(OpKind::LinearWgrad, {x, dy}, {{}, {{n, k}}}, {{"alpha", 2.0}});
  }
}

TEST(Precision, Embedding) {
  const Array tokens = Array::integers({1, 5}, {3, 1, 3, 0, 6});
  check(OpKind::Embedding, {tokens, some({7, 33}, 1)}, {{{1, 5, 33}}, {}});
  check(OpKind::EmbeddingBackward, {tokens, some({1, 5, 33}, 1)},
        {{}, {{7, 33}}});
}

TEST(Precision, RmsNorm) {
  check(OpKind::RmsNorm, {some({9, 101}, 1), some({101}, 2)},
        {{{9, 101}}, {{9}}}, {{"eps", 1e-5}});
}

TEST(Precision, LayerNorm) {
  for (bool isCentered : {false, true})
    check(OpKind::LayerNorm, {some({9, 101}, 1), some({101}, 2)},
          {{{9, 101}}, {{9}, {9}}}, {{"eps", 1e-5}, {"centered", isCentered}});
}

/// The mean is a thousand deviations from zero, with values that bf16 can
/// distinguish.
TEST(Precision, LayerNormFarFromZero) {
  Array x(DType::f32, {1, 64}), w = some({64}, 2), y(DType::f32, {1, 64});
  Array exact(DType::f64, {1, 64}), mean(DType::f32, {1}), rstd = mean;
  for (int64_t i = 0; i < 64; ++i)
    x.set(i, 1000 + double(i % 3));
  Array wide = x.cast(DType::f64), w32 = w.cast(DType::f32),
        w64 = w.cast(DType::f64), mean64(DType::f64, {1}), rstd64 = mean64;
  call(OpKind::LayerNorm, {&x, &w32}, {&y, &mean, &rstd}, {{"eps", 1e-5}});
  call(OpKind::LayerNorm, {&wide, &w64}, {&exact, &mean64, &rstd64},
       {{"eps", 1e-5}});
  // The mean is rounded to 6e-5, with a deviation of 0.8.
  EXPECT_LT(relativeError(y, exact), 1e-4);
}

TEST(Precision, Bias) {
  check(OpKind::AddBias, {some({9, 3, 7}, 1), some({3, 7}, 2)},
        {{{9, 3, 7}}, {}});
  check(OpKind::BiasBackward, {some({90, 3, 7}, 1)}, {{}, {{3, 7}}});
}

TEST(Precision, RmsNormBackward) {
  for (DType type : {DType::f32, DType::bf16}) {
    Array x = some({70, 101}, 1), w = some({101}, 2), dy = some({70, 101}, 3);
    auto backward = [&](DType t) {
      const Array rstd = run(OpKind::RmsNorm, {x, w}, {{{70, 101}}, {{70}}},
                             {{"eps", 1e-5}}, t)[1];
      return run(OpKind::RmsNormBackward, {dy, x, w, rstd},
                 {{{70, 101}}, {{101}}}, {}, t);
    };
    const auto exact = backward(DType::f64), ours = backward(type);
    EXPECT_LT(relativeError(ours[0], exact[0]),
              type == DType::f32 ? single : half);
    EXPECT_LT(relativeError(ours[1], exact[1]), single);
  }
}

/// Checks that an op accumulates into a bf16 gradient what it accumulates into
/// an f32 one, rounded once. A norm's weight gradient is its second result.
void checkNarrowGradient(OpKind kind, std::vector<Array> inputs, bool isNorm,
                         std::vector<int64_t> shape,
                         Array* workspace = nullptr) {
  Array narrow = some(shape, 9), wide = narrow.cast(DType::f32);
  Array other(DType::bf16, inputs[0].shape());
  std::vector<Array*> in;
  for (Array& input : inputs)
    in.push_back(&input);
  for (Array* gradient : {&narrow, &wide}) {
    call(kind, in,
         isNorm ? std::vector{&other, gradient} : std::vector{gradient}, {}, {},
         workspace);
  }
  for (int64_t i = 0; i < wide.size(); ++i)
    // Half a bf16 unit; oneDNN may add the terms, of order 10, in another
    // order.
    EXPECT_NEAR(narrow.get(i), wide.get(i),
                std::abs(wide.get(i)) * 0x1p-8 + 1e-4)
        << ops::opName(kind);
}

TEST(Precision, GradientsInBf16) {
  // One token many times: a sum rounded at each step would stop at 256 times
  // the addend.
  Array tokens = Array::integers({1, 600}, std::vector<int64_t>(600, 3));
  Array ones(DType::bf16, {1, 600, 70});
  for (int64_t i = 0; i < ones.size(); ++i)
    ones.set(i, 1);
  checkNarrowGradient(OpKind::EmbeddingBackward, {tokens, ones}, false,
                      {7, 70});
  checkNarrowGradient(OpKind::LinearWgrad,
                      {some({300, 40}, 1), some({300, 24}, 2)}, false,
                      {24, 40});
  Array rstd(DType::f32, {600});
  for (int64_t i = 0; i < 600; ++i)
    rstd.set(i, 1 + double(i) / 600);
  checkNarrowGradient(
      OpKind::RmsNormBackward,
      {some({600, 101}, 1), some({600, 101}, 2), some({101}, 3), rstd}, true,
      {101});
  checkNarrowGradient(
      OpKind::LayerNormBackward,
      {some({600, 101}, 1), some({600, 101}, 2), some({101}, 3), rstd, rstd},
      true, {101});
  checkNarrowGradient(OpKind::BiasBackward, {some({600, 101}, 1)}, false,
                      {101});
  // Two experts of 300 rows, at least five tiles each; the workspace holds
  // leftovers of an earlier op.
  Array counts = Array::integers({2, 1, 1}, {300, 290});
  Array workspace = Array::random(DType::f32, {24 * 40}, 5);
  checkNarrowGradient(OpKind::ExpertLinearWgrad,
                      {some({2, 300, 40}, 1), some({2, 300, 24}, 2), counts},
                      false, {2, 24, 40}, &workspace);
}

TEST(Precision, Rope) {
  // An angle of p radians has an error of p * 6e-8 in f32: 40 is within the
  // bound.
  const Array positions = Array::integers({1, 3}, {0, 7, 40});
  check(OpKind::Rope, {some({1, 3, 2, 10}, 1), positions},
        {{{1, 3, 2, 10}}, {}}, {{"theta", 1e4}});
}

TEST(Precision, Elementwise) {
  const std::vector<int64_t> shape = {3, 67};
  const Array a = some(shape, 1), b = some(shape, 2), c = some(shape, 3);
  check(OpKind::Silu, {a}, {{shape}, {}});
  check(OpKind::SiluBackward, {a, b}, {{shape}, {}});
  check(OpKind::Swiglu, {a, b}, {{shape}, {}});
  check(OpKind::SwigluBackward, {a, b, c}, {{shape, shape}, {}});
  check(OpKind::Mul, {a, b}, {{shape}, {}});
  check(OpKind::Add, {a, b}, {{shape}, {}});
  check(OpKind::Scale, {a}, {{shape}, {}}, {{"alpha", 0.3}});
  for (bool isExact : {false, true}) {
    check(OpKind::Gelu, {a}, {{shape}, {}}, {{"exact", isExact}});
    check(OpKind::GeluBackward, {a, b}, {{shape}, {}}, {{"exact", isExact}});
  }
  check(OpKind::Relu2, {a}, {{shape}, {}});
  check(OpKind::Relu2Backward, {a, b}, {{shape}, {}});
  check(OpKind::Sigmoid, {a}, {{shape}, {}});
  check(OpKind::SigmoidBackward, {a, b}, {{shape}, {}});
  check(OpKind::Softcap, {a}, {{shape}, {}}, {{"cap", 2.0}});
  check(OpKind::SoftcapBackward, {a, b}, {{shape}, {}}, {{"cap", 2.0}});
  const Array positions = Array::integers({1, 3}, {0, 7, 40});
  check(OpKind::PositionScale, {some({1, 3, 67}, 1), positions},
        {{{1, 3, 67}}, {}}, {{"floor", 4.0}, {"scale", 0.1}});
}

TEST(Precision, SiluOfExtremes) {
  Array x(DType::f32, {4}), y = x;
  const double inputs[] = {-1000, -90, 90, 1000};
  for (int64_t i = 0; i < 4; ++i)
    x.set(i, inputs[i]);
  call(OpKind::Silu, {&x}, {&y});
  EXPECT_NEAR(y.get(0), 0, 1e-30);
  EXPECT_NEAR(y.get(1), 0, 1e-30);
  EXPECT_EQ(y.get(2), 90);
  EXPECT_EQ(y.get(3), 1000);
}

} // namespace
} // namespace reciperun::kernels
