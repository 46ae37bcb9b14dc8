// The GPU's loss kernels compared with their CPU twins: the split softmax on
// one rank of two, its gradient, and the sum over rows. CudaOperands.h explains
// the tolerances.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaLoss : public CudaParityTest {};

TEST_F(CudaLoss, CrossEntropy) {
  const std::vector<int64_t> shapes[] = {{3, 1},      {5, 7},     {2, 3, 1000},
                                         {9, 4096},   {3, 32001}, {2, 128256},
                                         {4, 5, 8192}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (bool inPlace : {false, true}) {
        const int64_t width = shape.back();
        Array logits = numbers(type, shape, 1, 4), dlogits = logits;
        const int64_t rows = logits.size() / width;
        Array m(DType::f32, {rows}), stats(DType::f32, {rows, 2});
        // Half of the labels are on the other rank.
        Array labels = below(2 * width, {rows}, 2);
        Array weights = below(3, {rows}, 3, DType::f32);
        Array scale = one(DType::f32, 0.37), loss = one(DType::f64, 5);
        const Attributes axis = {{"axis", std::string("tp")}};
        const Place place{meshOf("tp", 2), 1};
        compare({OpKind::SoftmaxMax, {&logits}, {&m}, {}, place}, {exact});
        // Each SIMD lane of the CPU adds some 10^4 terms and rounds that many
        // times.
        compare(
            {OpKind::SoftmaxSum, {&logits, &m, &labels}, {&stats}, axis, place},
            {{0x1p-14, 0}});
        // Logarithms in f64 of the same inputs.
        compare({OpKind::Nll, {&m, &stats, &weights, &scale}, {&loss}},
                {{1e-12, 0}});
        compare({OpKind::CrossEntropyBackward,
                 {&logits, &m, &stats, &labels, &weights, &scale},
                 {inPlace ? &logits : &dlogits},
                 axis,
                 place},
                {tolerance(type, exponentials)});
      }
}

TEST_F(CudaLoss, NllOfManyRows) {
  const int64_t rows = 20011;
  Array m = numbers(DType::f32, {rows}, 1), stats(DType::f32, {rows, 2});
  for (int64_t i = 0; i < stats.size(); ++i)
    stats.set(i, 1 + double(i % 97));
  Array weights = below(3, {rows}, 3, DType::f32);
  Array scale = one(DType::f32, 1e-3), loss = one(DType::f64, 0);
  compare({OpKind::Nll, {&m, &stats, &weights, &scale}, {&loss}}, {{1e-12, 0}});
}

} // namespace
} // namespace reciperun::kernels
