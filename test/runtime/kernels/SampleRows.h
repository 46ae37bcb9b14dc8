// Rows of the operand `draws` of `sample`, for its tests.

#ifndef RECIPERUN_TEST_KERNELS_SAMPLEROWS_H
#define RECIPERUN_TEST_KERNELS_SAMPLEROWS_H

#include "runtime/kernels/sampling/TokenDraw.h"
#include "runtime/sizes/DrawNumbers.h"
#include "test/runtime/kernels/Harness.h"

#include <random>
#include <string>
#include <vector>

namespace reciperun::kernels {

struct RowDraw : DrawOptions {
  double uniform = 0;
};

inline std::string describe(const RowDraw& draw) {
  return "temperature " + std::to_string(draw.temperature) + ", top_k " +
         std::to_string(draw.topK) + ", top_p " + std::to_string(draw.topP) +
         ", min_p " + std::to_string(draw.minP) + ", u " +
         std::to_string(draw.uniform);
}

/// f64 [1,rows,5].
inline Array drawsOf(const std::vector<RowDraw>& rows) {
  Array draws(plan::DType::f64, {1, int64_t(rows.size()), sizes::drawNumbers});
  int64_t at = 0;
  for (const RowDraw& row : rows)
    for (double number :
         {row.temperature, double(row.topK), row.topP, row.minP, row.uniform})
      draws.set(at++, number);
  return draws;
}

/// Draws at several temperatures with every combination of filters.
inline std::vector<RowDraw> randomDraws(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::vector<RowDraw> draws;
  for (int i = 0; i < count; ++i) {
    RowDraw draw;
    draw.temperature = 0.5 + 2 * uniform(random);
    if (i % 2)
      draw.topK = 1 + int64_t(random() % (i % 16 == 1 ? 2000 : 40));
    if (i / 2 % 2)
      draw.topP = 0.05 + 0.94 * uniform(random);
    if (i / 4 % 2)
      draw.minP = 0.2 * uniform(random) * uniform(random);
    draw.uniform = uniform(random);
    draws.push_back(draw);
  }
  return draws;
}

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_SAMPLEROWS_H
