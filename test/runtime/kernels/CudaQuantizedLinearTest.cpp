// Matmuls with weights in 8 and 4 bits, compared with the CPU.

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/WeightScales.h"
#include "test/runtime/kernels/CudaHarness.h"

#include <deque>
#include <random>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;
using sizes::WeightFormat;
using sizes::WeightScales;

class CudaQuantizedLinear : public CudaParityTest {
protected:
  struct Case {
    int64_t rows, n, k;
    bool hasInScale = false;
    int64_t shift = 0;
  };

  void check(DType type, WeightFormat format, WeightScales scales, Case of) {
    const int64_t perByte = format == WeightFormat::int4 ? 2 : 1;
    Array w(sizes::storedType(format), {of.n, of.k / perByte});
    std::mt19937 random(1);
    auto* bytes = static_cast<uint8_t*>(w.tensor().data);
    for (int64_t i = 0; i < w.size(); ++i) {
      bytes[i] = uint8_t(random());
      if (format == WeightFormat::fp8 && (bytes[i] & 0x7f) == 0x7f)
        bytes[i] = 1; // NaN is not stored
    }
    Array scale(DType::f32, sizes::scaleShape(scales, of.n, of.k));
    for (int64_t i = 0; i < scale.size(); ++i)
      scale.set(i, 0.01 + double(random() % 100) / 1000);
    Array x = Array::random(type, {of.rows, of.k}, 2),
          inScale = Array::random(DType::f32, {of.k}, 3),
          y(type, {of.rows, of.n});
    ParityCase parity{OpKind::QuantizedLinear,
                      {&x, &w, &scale, of.hasInScale ? &inScale : nullptr},
                      {&y},
                      {{"scales", std::string(sizes::weightScalesName(scales))},
                       {"alpha", 0.5}}};
    parity.shift = of.shift;
    // Both sum in f32, in different orders; bf16 results are rounded, and the
    // CPU rounds x times in_scale, and scaled weights of more than 32 rows.
    const bool isNarrow = type == DType::bf16;
    compare(parity,
            {{isNarrow ? 0x1p-7 : 0x1p-20, isNarrow ? 0x1p-8 : 0x1p-18}});
  }
};

TEST_F(CudaQuantizedLinear, OfEachFormat) {
  for (DType type : {DType::f32, DType::bf16})
    for (WeightFormat format :
         {WeightFormat::fp8, WeightFormat::int8, WeightFormat::int4})
      for (WeightScales scales : {WeightScales::tensor, WeightScales::rows,
                                  WeightScales::groups, WeightScales::squares})
        for (int64_t rows : {1, 3, 8, 12, 50})
          check(type, format, scales, {rows, 150, 640});
}

TEST_F(CudaQuantizedLinear, OfOddSizes) {
  for (WeightFormat format :
       {WeightFormat::fp8, WeightFormat::int8, WeightFormat::int4}) {
    check(DType::bf16, format, WeightScales::groups, {2, 33, 390, true});
    check(DType::bf16, format, WeightScales::groups, {9, 33, 384, true});
    check(DType::f32, format, WeightScales::squares, {5, 257, 256, true, 1});
  }
}

/// Weights whose bytes have no NaN in fp8.
Array finiteWeights(DType type, int64_t n, int64_t k, unsigned seed) {
  return Array::random(type == DType::bf16 ? type : DType::f32, {n, k}, seed)
      .cast(type);
}

/// One kernel for several matmuls of few rows gives the bits of one for each.
TEST_F(CudaQuantizedLinear, JoinedMatmulsAreThoseOfEach) {
  for (DType type : {DType::bf16, DType::f8e4m3})
    for (int64_t rows : {1, 2, 3, 4, 5}) {
      Array x = Array::random(DType::bf16, {rows, 640}, 1);
      std::deque<Array> weights, scales, apart, together;
      std::vector<ParityCase> cases;
      for (int64_t n : {257, 33, 64}) {
        Array& w =
            weights.emplace_back(finiteWeights(type, n, 640, unsigned(n)));
        Array& scale = scales.emplace_back(Array::random(DType::f32, {n}, 2));
        Array& y = apart.emplace_back(DType::bf16, std::vector{rows, n});
        ParityCase of{OpKind::Linear, {&x, &w}, {&y}, {{"alpha", 0.5}}};
        if (type != DType::bf16) {
          of.kind = OpKind::QuantizedLinear;
          of.inputs = {&x, &w, &scale, nullptr};
          of.attributes["scales"] = std::string("rows");
        }
        runOnGpu(of);
        of.outputs = {&together.emplace_back(y.dtype(), y.shape())};
        cases.push_back(of);
      }
      const Expected<bool> joined = joinOnGpu(cases);
      ASSERT_TRUE(bool(joined)) << joined.message();
      EXPECT_EQ(*joined, rows <= 4);
      for (size_t i = 0; *joined && i < apart.size(); ++i)
        EXPECT_EQ(relativeError(together[i], apart[i]), 0) << i;
    }
}

} // namespace
} // namespace reciperun::kernels
