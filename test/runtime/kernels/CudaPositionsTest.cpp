// The GPU kernels that read positions compared with their CPU twins: rotary
// positions of all layouts and scalings, and scales by position. CudaOperands.h
// explains the tolerances.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaPositions : public CudaParityTest {};

struct RopeShape {
  std::vector<int64_t> x;
  int64_t rotated;
};

const RopeShape ropeShapes[] = {
    {{1, 1, 1, 2}, 0},     {{2, 5, 3, 64}, 0},   {{1, 9, 8, 128}, 0},
    {{1, 70, 32, 128}, 0}, {{3, 4, 2, 40}, 24},  {{2, 7, 5, 80}, 32},
    {{1, 67, 1, 64}, 0},   {{1, 3, 4, 6}, 0},    {{1, 2, 6, 1024}, 0},
    {{1, 5, 40, 192}, 64}, {{2, 33, 11, 64}, 0}, {{1, 5, 9, 20}, 0}};

TEST_F(CudaPositions, Rope) {
  for (DType type : types)
    for (const RopeShape& shape : ropeShapes)
      for (bool interleaved : {false, true})
        for (bool inPlace : {false, true}) {
          Array x = numbers(type, shape.x, 1), y = x;
          // Far positions: angles beyond the range of fast sines.
          Array positions = below(200000, {shape.x[0], shape.x[1]}, 2);
          compare({OpKind::Rope,
                   {&x, &positions},
                   {inPlace ? &x : &y},
                   {{"theta", 1e4},
                    {"rotated", shape.rotated},
                    {"interleaved", interleaved},
                    {"inverse", inPlace}}},
                  {tolerance(type, {0x1p-21, 0x1p-21})});
        }
}

TEST_F(CudaPositions, RopeScalings) {
  for (const char* scaling : {"none", "linear", "llama3", "yarn"}) {
    Array x = numbers(DType::f32, {1, 40, 2, 64}, 1), y = x;
    Array positions = below(30000, {1, 40}, 2);
    compare({OpKind::Rope,
             {&x, &positions},
             {&y},
             {{"theta", 5e5},
              {"scaling", std::string(scaling)},
              {"factor", 8.0},
              {"low_freq_factor", 1.0},
              {"high_freq_factor", 4.0},
              {"original_max_position", 8192.0}}},
            {{0x1p-21, 0x1p-21}});
  }
}

TEST_F(CudaPositions, PositionScale) {
  for (DType type : types)
    for (int64_t width : {1, 9, 64, 5000}) {
      Array x = numbers(type, {2, 33, width}, 1), y = x;
      Array positions = below(1000000, {2, 33}, 2);
      const Attributes rule = {{"floor", 8192.0}, {"scale", 0.1}};
      compare({OpKind::PositionScale, {&x, &positions}, {&y}, rule},
              {tolerance(type, fewUnits)});
      compare({OpKind::PositionScale, {&x, &positions}, {&x}, rule},
              {tolerance(type, fewUnits)});
    }
}

} // namespace
} // namespace reciperun::kernels
