// Warm-up, then cosine, linear or constant.

#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reciperun::train {

double learningRate(const plan::LearningRate& rate, int64_t step,
                    int64_t steps) {
  int64_t warmup = rate.warmup;
  if (warmup > 0 && step <= warmup)
    return rate.peak * double(step + 1) / double(warmup + 1);
  if (rate.kind == "constant")
    return rate.peak;
  double annealing = double(std::max<int64_t>(1, steps - warmup));
  double t = std::min(1.0, double(step - warmup) / annealing);
  double left =
      rate.kind == "cosine" ? (1 + std::cos(std::numbers::pi * t)) / 2 : 1 - t;
  return rate.min + (rate.peak - rate.min) * left;
}

} // namespace reciperun::train
