// Frequencies are theta^(-2i/d), changed by a scaling rule for contexts longer
// than the training length. `linear` divides all frequencies by a factor.
// `llama3` and `yarn` divide those of long wavelength, keep those of short
// wavelength, and interpolate in between, by the wavelength or by i
// (transformers, _compute_llama3_parameters and _compute_yarn_parameters; Peng
// et al. 2023, section 3.2).

#include "runtime/kernels/attention/RopeFrequencies.h"

#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <string>

namespace reciperun::kernels {
namespace {

double llama3Frequency(double frequency, const ops::RopeAttributes& rope) {
  const double factor = rope.factor, low = rope.lowFreqFactor,
               high = rope.highFreqFactor, original = rope.originalMaxPosition;
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original / high)
    return frequency;
  if (wavelength > original / low)
    return frequency / factor;
  const double smooth = (original / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

/// The weight of pair `i`'s own frequency under YaRN, from 1 to 0.
double yarnShare(int64_t i, int64_t half, const ops::RopeAttributes& rope) {
  const double original = rope.originalMaxPosition;
  // The pair that makes this number of rotations within the training length.
  auto pairOf = [&](double rotations) {
    return double(half) *
           std::log(original / (rotations * 2 * std::numbers::pi)) /
           std::log(rope.theta);
  };
  const double low = std::max(std::floor(pairOf(rope.betaFast)), 0.0);
  double high =
      std::min(std::ceil(pairOf(rope.betaSlow)), double(2 * half - 1));
  if (high == low)
    high += 0.001; // avoids a division by zero: a step
  return 1 - std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
}

} // namespace

std::vector<double> ropeFrequencies(const plan::Op& op, int64_t half) {
  const ops::RopeAttributes rope(op.attributes);
  const std::string& scaling = rope.scaling;
  assert((scaling.empty() || scaling == "none" || scaling == "linear" ||
          scaling == "llama3" || scaling == "yarn") &&
         "a rope scaling that the plan's reader accepts");
  std::vector<double> result(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i) {
    double frequency = std::pow(rope.theta, -double(i) / double(half));
    if (scaling == "linear")
      frequency /= rope.factor;
    else if (scaling == "llama3")
      frequency = llama3Frequency(frequency, rope);
    else if (scaling == "yarn") {
      const double share = yarnShare(i, half, rope);
      frequency *= share + (1 - share) / rope.factor;
    }
    result[size_t(i)] = frequency;
  }
  return result;
}

} // namespace reciperun::kernels
