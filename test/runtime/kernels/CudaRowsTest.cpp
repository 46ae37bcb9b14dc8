// The GPU's row kernels compared with their CPU twins: norms, biases,
// broadcasts and slices of rows, with widths from one element to more than a
// thread block holds. CudaOperands.h explains the tolerances.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

#include <utility>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaRows : public CudaParityTest {};

const std::vector<int64_t> matrices[] = {
    {5, 1},     {3, 7},    {1000, 8},  {33, 64},   {257, 128},
    {9, 520},   {4, 1000}, {2, 1001},  {70, 2048}, {31, 4096},
    {700, 512}, {7, 8192}, {5, 12288}, {3, 16384}, {2, 5, 96}};

Tolerance gradientTolerance(DType gradient) {
  return tolerance(gradient, sums);
}

TEST_F(CudaRows, RmsNorm) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (int variant = 0; variant < 3; ++variant) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), w = numbers(type, {width}, 2);
        Array y = x, rstd(DType::f32, {x.size() / width});
        compare({OpKind::RmsNorm,
                 {&x, variant == 2 ? nullptr : &w},
                 {&y, &rstd},
                 {{"eps", 1e-5}, {"centered", variant == 1}}},
                {tolerance(type, {0x1p-19, 0}), {0x1p-20, 0}});
      }
}

TEST_F(CudaRows, RmsNormBackward) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (int variant = 0; variant < 4; ++variant) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2);
        Array w = numbers(type, {width}, 3), dx(type, shape);
        Array rstd = numbers(DType::f32, {x.size() / width}, 4, 0.1);
        const DType gradient = variant == 1 ? type : DType::f32;
        Array dw = numbers(gradient, {width}, 5);
        const bool hasWeight = variant != 2, inPlace = variant == 3;
        compare({OpKind::RmsNormBackward,
                 {&dy, &x, hasWeight ? &w : nullptr, &rstd},
                 {inPlace ? &dy : &dx, hasWeight ? &dw : nullptr},
                 {{"centered", variant == 1}}},
                {tolerance(type, sums), gradientTolerance(gradient)});
      }
}

TEST_F(CudaRows, LayerNorm) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (bool centered : {false, true}) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), w = numbers(type, {width}, 2);
        Array y = x, mean(DType::f32, {x.size() / width}), rstd = mean;
        for (int64_t i = 0; i < x.size(); ++i)
          x.set(i, x.get(i) + 1); // a mean to subtract
        // The error of a mean is relative to its terms, and a row of one
        // element consists of nothing but that error.
        compare({OpKind::LayerNorm,
                 {&x, &w},
                 {&y, &mean, &rstd},
                 {{"eps", 1e-5}, {"centered", centered}}},
                {tolerance(type, {0x1p-18, 0x1p-18}),
                 {0x1p-20, 0x1p-20},
                 {0x1p-19, 0}});
      }
}

TEST_F(CudaRows, LayerNormBackward) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (int variant = 0; variant < 3; ++variant) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2);
        Array w = numbers(type, {width}, 3), dx(type, shape);
        Array mean = numbers(DType::f32, {x.size() / width}, 4, 0.1);
        Array rstd = numbers(DType::f32, {x.size() / width}, 6, 0.5);
        const DType gradient = variant == 1 ? type : DType::f32;
        Array dw = numbers(gradient, {width}, 5);
        compare({OpKind::LayerNormBackward,
                 {&dy, &x, &w, &mean, &rstd},
                 {variant == 2 ? &dy : &dx, variant == 2 ? nullptr : &dw},
                 {{"centered", variant == 1}}},
                {tolerance(type, sums), gradientTolerance(gradient)});
      }
}

TEST_F(CudaRows, NormsTakeBuffersThatAreNotAligned) {
  for (DType type : types) {
    Array x = numbers(type, {6, 256}, 1), w = numbers(type, {256}, 2), y = x;
    Array rstd(DType::f32, {6}), dw(DType::f32, {256}), dx = x;
    compare({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, {{"eps", 1e-5}}, {}, 1},
            {tolerance(type, {0x1p-19, 0}), {0x1p-20, 0}});
    compare(
        {OpKind::RmsNormBackward, {&y, &x, &w, &rstd}, {&dx, &dw}, {}, {}, 1},
        {tolerance(type, sums), sums});
  }
}

TEST_F(CudaRows, WeightsOfSeveralRows) {
  // Rows that share a thread block, rows that are not whole vectors, rows with
  // their own block and a ring buffer, and one case with so many of them that
  // ring slots are reused.
  const std::vector<int64_t> shapes[] = {
      {300, 8, 64}, {3, 5, 2, 17}, {9, 2, 1001}, {70, 4, 1024}, {3000, 3, 260}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (bool centered : {false, true}) {
        if (shape[0] == 3000 && (type == DType::bf16 || centered))
          continue;
        const std::vector<int64_t> ofToken(shape.end() - 2, shape.end());
        const std::vector<int64_t> ofRow(shape.begin(), shape.end() - 1);
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2), y = x;
        Array w = numbers(type, ofToken, 3), dw = numbers(type, ofToken, 4);
        Array mean(DType::f32, ofRow), rstd(DType::f32, ofRow);
        const Attributes how = {{"eps", 1e-5}, {"centered", centered}};
        const Tolerance normed = tolerance(type, sums);
        const Tolerance gradient = gradientTolerance(type);
        compare({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, how}, {normed, sums});
        compare({OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&y, &dw}, how},
                {normed, gradient});
        compare({OpKind::LayerNorm, {&x, &w}, {&y, &mean, &rstd}, how},
                {normed, sums, sums});
        compare({OpKind::LayerNormBackward,
                 {&dy, &x, &w, &mean, &rstd},
                 {&y, &dw},
                 how},
                {normed, gradient});
      }
}

TEST_F(CudaRows, NormsOfSoManyRowsThatSlotsAreFilledAgain) {
  const std::pair<DType, std::vector<int64_t>> cases[] = {
      {DType::bf16, {8600, 520}}, {DType::f32, {420, 8192}}};
  for (const auto& [type, shape] : cases) {
    const int64_t rows = shape[0], width = shape[1];
    Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2), y = x;
    Array w = numbers(type, {width}, 3), dw(DType::f32, {width});
    Array mean(DType::f32, {rows}), rstd(DType::f32, {rows});
    const Attributes eps = {{"eps", 1e-5}};
    const Tolerance normed = tolerance(type, sums);
    compare({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, eps}, {normed, sums});
    compare({OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&y, &dw}},
            {normed, sums});
    compare({OpKind::LayerNorm, {&x, &w}, {&y, &mean, &rstd}, eps},
            {normed, sums, sums});
    compare({OpKind::LayerNormBackward, {&dy, &x, &w, &mean, &rstd}, {&y, &dw}},
            {normed, sums});
  }
}

TEST_F(CudaRows, NormsRefuseRowsThatNoBlockHolds) {
  Array x(DType::f32, {1, 16385}), w(DType::f32, {16385}), y = x;
  Array rstd(DType::f32, {1});
  const Status status = tryOnGpu({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}});
  EXPECT_EQ(status.message(), "its rows have 16385 elements, and on GPUs they "
                              "have at most 16384");
}

TEST_F(CudaRows, AddBias) {
  for (DType type : types)
    for (const auto& shape : matrices) {
      Array x = numbers(type, shape, 1), b = numbers(type, {shape.back()}, 2);
      Array y = x;
      compare({OpKind::AddBias, {&x, &b}, {&y}}, {exact});
      compare({OpKind::AddBias, {&x, &b}, {&x}}, {exact});
    }
}

TEST_F(CudaRows, BiasBackward) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (DType gradient : {DType::f32, type}) {
        Array dy = numbers(type, shape, 1);
        Array db = numbers(gradient, {shape.back()}, 2);
        compare({OpKind::BiasBackward, {&dy}, {&db}},
                {gradientTolerance(gradient)});
      }
}

TEST_F(CudaRows, BroadcastAndItsGradient) {
  for (DType type : types)
    for (int64_t over : {1, 3, 8})
      for (int64_t width : {1, 5, 64, 1000}) {
        Array x = numbers(type, {2, 3, width}, 1);
        Array y(type, {2, 3, over, width});
        compare({OpKind::Broadcast, {&x}, {&y}}, {exact});
        Array dy = numbers(type, {2, 3, over, width}, 2), dx = x;
        compare({OpKind::BroadcastBackward, {&dy}, {&dx}},
                {tolerance(type, {0x1p-22, 0x1p-22})});
      }
}

TEST_F(CudaRows, PartsOfRows) {
  const struct {
    int64_t rows, whole, part, begin;
  } cases[] = {{1, 1, 1, 0},       {5, 9, 3, 2},         {7, 64, 32, 32},
               {100, 192, 128, 0}, {100, 192, 64, 128},  {3, 4096, 1024, 8},
               {9, 4096, 1024, 1}, {2, 300, 299, 1},     {600, 24, 8, 16},
               {1, 100000, 9, 17}, {1, 100000, 65536, 4}};
  for (DType type : types)
    for (const auto& c : cases) {
      Array wide = numbers(type, {c.rows, c.whole}, 1);
      Array part(type, {c.rows, c.part});
      compare({OpKind::Narrow, {&wide}, {&part}, {{"begin", c.begin}}},
              {exact});
      compare({OpKind::Pad, {&part}, {&wide}, {{"begin", c.begin}}}, {exact});
      Array both(type, {c.rows, c.whole + c.part});
      compare({OpKind::Concat, {&wide, &part}, {&both}}, {exact});
    }
}

TEST_F(CudaRows, PartsOfADimensionThatAnotherFollows) {
  for (DType type : types)
    for (int64_t behind : {1, 7, 64, 1000})
      for (int64_t begin : {0, 1, 2}) {
        const Attributes slice = {{"begin", begin}, {"behind", int64_t(1)}};
        Array wide = numbers(type, {9, 4, behind}, 1);
        Array part(type, {9, 2, behind}), one(type, {9, behind});
        compare({OpKind::Narrow, {&wide}, {&part}, slice}, {exact});
        compare({OpKind::Narrow, {&wide}, {&one}, slice}, {exact});
        compare({OpKind::Pad, {&part}, {&wide}, slice}, {exact});
        compare({OpKind::Pad, {&one}, {&wide}, slice}, {exact});
      }
}

TEST_F(CudaRows, Slice) {
  for (DType type : {DType::f32, DType::bf16, DType::i32})
    for (int64_t dim : {0, 1, 2})
      for (int rank : {0, 1, 2}) {
        std::vector<int64_t> shape = {4, 5, 7};
        Array part(type, shape);
        shape[size_t(dim)] *= 3;
        Array whole = below(200, shape, 1, type);
        compare({OpKind::Slice,
                 {&whole},
                 {&part},
                 {{"dim", dim}, {"axis", std::string("tp")}},
                 {meshOf("tp", 3), rank}},
                {exact});
      }
}

} // namespace
} // namespace reciperun::kernels
