// Computes the learning rate: warm-up, then the decay of the schedule's kind.

#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace reciperun::train {
namespace {

int64_t length(int64_t inSteps, double fraction, int64_t steps) {
  return fraction > 0 ? int64_t(fraction * double(steps)) : inSteps;
}

/// The value of a decay from 1 to 0 at fraction `t`.
double left(std::string_view shape, double t) {
  if (shape == "sqrt")
    return 1 - std::sqrt(t);
  return shape == "cosine" ? (1 + std::cos(std::numbers::pi * t)) / 2 : 1 - t;
}

/// The finished fraction, from 0 to 1, of the `total` steps that start at
/// `begin`.
double partDone(int64_t step, int64_t begin, int64_t total) {
  double done = double(step - begin) / double(std::max<int64_t>(1, total));
  return std::clamp(done, 0.0, 1.0);
}

} // namespace

double learningRate(const plan::LearningRate& rate, int64_t step,
                    int64_t steps) {
  int64_t warmup = length(rate.warmup, rate.warmupFraction, steps);
  if (warmup > 0 && step <= warmup)
    return rate.peak * double(step + 1) / double(warmup + 1);
  if (rate.kind == "constant")
    return rate.peak;
  if (rate.kind == "inverse_sqrt")
    return std::max(
        rate.min, rate.peak * std::sqrt(double(warmup + 1) / double(step + 1)));
  double range = rate.peak - rate.min;
  if (rate.kind == "wsd") {
    int64_t decay = length(rate.decay, rate.decayFraction, steps);
    double done = partDone(step, steps - decay, decay);
    return rate.min + range * left(rate.shape, done);
  }
  return rate.min +
         range * left(rate.kind, partDone(step, warmup, steps - warmup));
}

std::string scheduleDoubt(const plan::LearningRate& rate, int64_t steps) {
  if (rate.warmup <= steps)
    return {};
  return "`warmup` = " + std::to_string(rate.warmup) +
         " steps is longer than the run of " + std::to_string(steps) +
         (steps == 1 ? " step" : " steps") +
         ": the learning rate does not reach its `peak`; shorten it, say to a "
         "tenth of the run, `warmup = 0.1`";
}

} // namespace reciperun::train
