// Fused ops on a GPU compared with their CPU twins. CudaOperands.h explains the
// tolerances. bf16 matmuls are summed in f32 and rounded once. Matmuls that add
// to one another round once per term, from the second on relative to the
// largest sum.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

#include <array>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaJoint : public CudaParityTest {};

/// For sums of `terms` matmuls that are added one by one.
Tolerance matmulTolerance(DType type, int terms = 1) {
  return type == DType::bf16 ? Tolerance{0x1p-7, terms * 0x1p-8}
                             : Tolerance{0, 1e-5};
}

TEST_F(CudaJoint, LinearAdd) {
  for (DType type : types)
    for (bool inPlace : {false, true})
      for (auto [tokens, out, in] : {std::array<int64_t, 3>{128, 256, 64},
                                     {37, 19, 53},
                                     {1, 8, 8},
                                     {200, 4096, 32},
                                     {300, 4096, 32},
                                     {515, 1024, 64},
                                     {33, 130, 1}}) {
        Array x = numbers(type, {tokens, in}, 1),
              w = numbers(type, {out, in}, 2),
              c = numbers(type, {tokens, out}, 3), y(type, {tokens, out});
        compare({OpKind::LinearAdd,
                 {&x, &w, &c},
                 {inPlace ? &c : &y},
                 {{"alpha", 0.5}}},
                {matmulTolerance(type, 2)});
      }
}

/// One dimension of the weight is small: its rows or its columns.
TEST_F(CudaJoint, SkinnyMatmuls) {
  for (auto [tokens, out, in] : {std::array<int64_t, 3>{300, 32, 4096},
                                 {1000, 8, 512},
                                 {257, 64, 2048},
                                 {2048, 32, 512},
                                 {300, 4096, 32},
                                 {1000, 512, 8},
                                 {777, 1024, 64},
                                 {256, 640, 40},
                                 {2048, 512, 32}})
    for (bool isAdded : {false, true}) {
      constexpr DType half = DType::bf16;
      Array x = numbers(half, {tokens, in}, 1), w = numbers(half, {out, in}, 2),
            dy = numbers(half, {tokens, out}, 3);
      Array y = numbers(half, {tokens, out}, 4),
            dx = numbers(half, {tokens, in}, 5),
            dw = numbers(isAdded ? half : DType::f32, {out, in}, 6);
      const Attributes how = {{"alpha", 0.5}, {"accumulate", isAdded}};
      compare({OpKind::Linear, {&x, &w}, {&y}, how},
              {matmulTolerance(half, 2)});
      compare({OpKind::LinearDgrad, {&dy, &w}, {&dx}, how},
              {matmulTolerance(half, 2)});
      compare({OpKind::LinearWgrad, {&x, &dy}, {&dw}, how},
              {matmulTolerance(dw.dtype(), 2)});
    }
}

struct JointCase {
  int64_t tokens, in;
  std::vector<int64_t> out;
  int64_t shift = 0;
};

/// Skinny ones, which run as one library matmul, or in our own kernels when
/// there is no room for the concatenated operands, as in the last case; and
/// others.
const JointCase jointCases[] = {
    {256, 512, {32, 16, 8}},    {1000, 2048, {32, 32}},
    {515, 1032, {8, 16, 64}},   {64, 4096, {64, 64, 64}},
    {37, 19, {3, 5, 7}},        {128, 256, {96, 32, 32}},
    {520, 2048, {16, 32, 16}},  {300, 2048, {32, 32, 32}, 1},
    {1030, 2048, {32, 32, 32}}, {1, 512, {4, 4}},
    {259, 1024, {40, 24, 8}},   {300, 4096, {64, 64}},
    {321, 640, {8, 8}},         {16500, 512, {64, 64}},
};

std::vector<Array> arrays(DType type, const JointCase& of, bool areWeights,
                          unsigned seed) {
  std::vector<Array> made;
  for (int64_t out : of.out)
    made.push_back(numbers(type,
                           areWeights ? std::vector<int64_t>{out, of.in}
                                      : std::vector<int64_t>{of.tokens, out},
                           seed++));
  return made;
}

Array* at(std::vector<Array>& of, size_t i) {
  return i < of.size() ? &of[i] : nullptr;
}

TEST_F(CudaJoint, MatmulsOfOneInput) {
  for (DType type : types)
    for (const JointCase& of : jointCases) {
      Array x = numbers(type, {of.tokens, of.in}, 1);
      std::vector<Array> w = arrays(type, of, true, 2),
                         y = arrays(type, of, false, 5);
      compare({OpKind::LinearJoint,
               {&x, at(w, 0), at(w, 1), at(w, 2)},
               {at(y, 0), at(y, 1), at(y, 2)},
               {{"alpha", 0.5}},
               {},
               of.shift},
              {matmulTolerance(type)});
    }
}

TEST_F(CudaJoint, GradientsOfOneInput) {
  for (DType type : types)
    for (bool isAdded : {false, true})
      for (const JointCase& of : jointCases) {
        Array dx = numbers(type, {of.tokens, of.in}, 1);
        std::vector<Array> w = arrays(type, of, true, 2),
                           dy = arrays(type, of, false, 5);
        compare(
            {OpKind::LinearJointDgrad,
             {at(dy, 0), at(dy, 1), at(dy, 2), at(w, 0), at(w, 1), at(w, 2)},
             {&dx},
             {{"alpha", 0.5}, {"accumulate", isAdded}},
             {},
             of.shift},
            {matmulTolerance(type, 4)});
      }
}

TEST_F(CudaJoint, GradientsOfWeights) {
  for (DType type : types)
    for (DType gradient : types) {
      if (type == DType::f32 && gradient == DType::bf16)
        continue;
      for (const JointCase& of : jointCases) {
        Array x = numbers(type, {of.tokens, of.in}, 1);
        std::vector<Array> dy = arrays(type, of, false, 2),
                           dw = arrays(gradient, of, true, 5);
        compare({OpKind::LinearJointWgrad,
                 {&x, at(dy, 0), at(dy, 1), at(dy, 2)},
                 {at(dw, 0), at(dw, 1), at(dw, 2)},
                 {{"alpha", 0.5}},
                 {},
                 of.shift},
                {matmulTolerance(gradient, 2)});
      }
    }
}

TEST_F(CudaJoint, NormsAddToTheirGradient) {
  const std::vector<int64_t> shapes[] = {
      {3, 7},      {33, 64},  {9, 520},   {2, 1001},  {70, 2048},
      {560, 4096}, {7, 8192}, {5, 12288}, {3, 16384}, {1000, 512}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (bool isTrained : {false, true}) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2),
              dx = numbers(type, shape, 3), w = numbers(type, {width}, 4);
        Array mean = numbers(DType::f32, {shape[0]}, 5, 0.1),
              rstd = numbers(DType::f32, {shape[0]}, 6, 0.1),
              dw = numbers(DType::f32, {width}, 7), dxOfLayer = dx;
        const Attributes added = {{"accumulate", true}};
        compare({OpKind::RmsNormBackward,
                 {&dy, &x, &w, &rstd},
                 {&dx, isTrained ? &dw : nullptr},
                 added},
                {tolerance(type, sums), sums});
        compare({OpKind::LayerNormBackward,
                 {&dy, &x, &w, &mean, &rstd},
                 {&dxOfLayer, isTrained ? &dw : nullptr},
                 added},
                {tolerance(type, sums), sums});
      }
}

TEST_F(CudaJoint, SoftmaxStats) {
  const std::vector<int64_t> shapes[] = {{3, 1},     {5, 7},     {2, 3, 1000},
                                         {9, 4096},  {3, 32001}, {2, 128256},
                                         {700, 8192}};
  for (DType type : types)
    for (const auto& shape : shapes) {
      const int64_t width = shape.back();
      Array logits = numbers(type, shape, 1, 4);
      const int64_t rows = logits.size() / width;
      Array m(DType::f32, {rows}), stats(DType::f32, {rows, 2});
      Array labels = below(width + 1, {rows}, 2);
      // The running maximum of a thread changes some ten times, so that a sum
      // is rounded that many more times than in two passes.
      compare({OpKind::SoftmaxStats, {&logits, &labels}, {&m, &stats}},
              {exact, {0x1p-14, 0}});
    }
}

} // namespace
} // namespace reciperun::kernels
