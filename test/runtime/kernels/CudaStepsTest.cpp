// The GPU kernels of serving steps compared with their CPU twins: convolutions
// and scans that go on from a sequence's state, rows that are taken, and the
// chosen tokens.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"
#include "test/runtime/kernels/SampleRows.h"
#include "test/runtime/kernels/ServingSteps.h"

#include <cmath>
#include <limits>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaSteps : public CudaParityTest {};

const std::vector<int64_t> lengths = {70, 1, 33, 5};
const std::vector<int64_t> slots = {2, 0, 4, 1};
constexpr int64_t slotCount = 5;

/// Single tokens, a few, and whole sequences at once.
constexpr int64_t mostAtOnce[] = {1, 9, 100};

TEST_F(CudaSteps, Convolution) {
  struct Shape {
    int64_t groups, channels, taps;
  };
  const Shape shapes[] = {{2, 35, 4}, {1, 300, 9}, {1, 2, 1}};
  for (DType type : types)
    for (const Shape& s : shapes)
      for (int64_t most : mostAtOnce) {
        Array w = numbers(type, {s.groups, s.channels, s.taps}, 1);
        Array inputs =
            numbers(type, {slotCount, s.groups, s.channels, s.taps - 1}, 2);
        unsigned seed = 3;
        for (ServingStep& step : randomSteps(lengths, slots, most, 1)) {
          Array x =
              numbers(type, {1, step.tokens(), s.groups, s.channels}, seed++);
          Array y = x;
          // Sums of one product per tap, rounded once.
          compare({OpKind::CausalConvStep,
                   {&x, &w, &step.positions, &step.sequences},
                   {&y, &inputs}},
                  {tolerance(type, {0, 0x1p-20}), exact});
        }
      }
}

TEST_F(CudaSteps, Scan) {
  struct Shape {
    int64_t groups, heads, width, state;
  };
  const Shape shapes[] = {{2, 3, 2, 5}, {1, 2, 40, 128}, {1, 1, 9, 256}};
  for (DType type : types)
    for (const Shape& s : shapes)
      for (int64_t most : mostAtOnce) {
        const std::vector<int64_t> parameters = {s.groups, s.heads};
        Array rate = numbers(type, parameters, 1),
              skip = numbers(type, parameters, 2),
              bias = numbers(type, parameters, 3);
        Array states = numbers(
            DType::f32, {slotCount, s.groups, s.heads * s.width, s.state}, 4);
        unsigned seed = 5;
        for (ServingStep& step : randomSteps(lengths, slots, most, 1)) {
          auto drawn = [&](int64_t last) {
            return numbers(type, {1, step.tokens(), s.groups, last}, seed++);
          };
          Array x = drawn(s.heads * s.width), dt = drawn(s.heads),
                b = drawn(s.state), c = drawn(s.state), y = x;
          // Those of CudaStateSpaceTest.cpp: exponentials, and sums over the
          // state.
          compare({OpKind::StateScanStep,
                   {&x, &dt, &b, &c, &rate, &skip, &bias, &step.positions,
                    &step.sequences},
                   {&y, &states}},
                  {tolerance(type, {0x1p-16, 0x1p-16}), {0x1p-16, 0x1p-16}});
        }
      }
}

TEST_F(CudaSteps, TakenRows) {
  for (DType type : types)
    for (int64_t width : {1, 7, 64, 4096}) {
      Array x = numbers(type, {1, 9, width}, 1);
      Array rows = Array::integers({1, 5}, {8, -1, 0, 0, 3});
      Array y = numbers(type, {1, 5, width}, 2);
      compare({OpKind::TakeRows, {&x, &rows}, {&y}}, {exact});
    }
}

TEST_F(CudaSteps, LikeliestTokens) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (DType type : types)
    for (int64_t width : {1, 7, 4096, 32001, 128256}) {
      Array logits = numbers(type, {1, 7, width}, 1);
      for (int64_t i = 0; i < width; ++i)
        logits.set(3 * width + i, -2 - double(i % 3)); // equal and negative
      logits.set(4 * width + width / 2, std::nan(""));
      logits.set(5 * width + width / 3, -infinity);
      logits.set(7 * width - 1, infinity);
      Array draws = drawsOf(std::vector<RowDraw>(7));
      Array ids = Array::integers({1, 7}, std::vector<int64_t>(7, -7));
      compare({OpKind::Sample, {&logits, &draws}, {&ids}}, {exact});
    }
}

/// Sums are rounded on the CPU alone, by some 1e-7 of them: a random number
/// that lies so near to a limit is none of these.
TEST_F(CudaSteps, DrawnTokens) {
  constexpr int64_t rows = 64;
  for (DType type : types)
    for (double spread : {0.1, 1., 4.})
      for (int64_t width : {1, 7, 600, 4096, 32001, 128256}) {
        Array logits =
            Array::random(type, {1, rows, width}, unsigned(width), spread);
        Array draws = drawsOf(randomDraws(rows, unsigned(width) + 1));
        Array ids = Array::integers({1, rows}, std::vector<int64_t>(rows, -7));
        compare({OpKind::Sample, {&logits, &draws}, {&ids}}, {exact});
      }
}

TEST_F(CudaSteps, Adapters) {
  struct Shape {
    int64_t in, out;
  };
  const int64_t count = 3;
  for (DType type : types)
    for (const Shape& s :
         {Shape{4096, 16}, {16, 4096}, {8, 100}, {300, 7}, {5, 33}}) {
      Array x = numbers(type, {1, 6, s.in}, 1);
      Array w = numbers(type, {count * s.out, s.in}, 2);
      Array adapters = Array::integers({1, 6}, {2, 2, -1, 0, 1, -1});
      Array y = numbers(type, {1, 6, s.out}, 3);
      compare({OpKind::AdapterLinear, {&x, &w, &adapters}, {&y}},
              {tolerance(type, sums)});
    }
}

} // namespace
} // namespace reciperun::kernels
