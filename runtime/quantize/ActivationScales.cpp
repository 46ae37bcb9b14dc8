// See ActivationScales.h.

#include "runtime/quantize/ActivationScales.h"

#include "runtime/quantize/RowThreads.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace reciperun::quantize {
namespace {

constexpr int alphaSteps = 20;
/// Channels that are never used still get a positive factor.
constexpr float leastMean = 1e-4f;

std::vector<float> factorsFor(const std::vector<float>& mean, double alpha) {
  std::vector<float> factors(mean.size());
  for (size_t j = 0; j < mean.size(); ++j)
    factors[j] = float(std::pow(std::max(mean[j], leastMean), alpha));
  const auto [least, most] =
      std::minmax_element(factors.begin(), factors.end());
  const float middle = std::sqrt(*least * *most);
  for (float& factor : factors)
    factor /= middle;
  return factors;
}

/// The error of ActivationScales for W and the dequantized W s.
double weightedError(std::span<const float> values,
                     const std::vector<float>& scaled,
                     const std::vector<float>& factors,
                     const std::vector<float>& mean, int threads) {
  const int64_t k = int64_t(factors.size());
  const int64_t rows = int64_t(values.size()) / k;
  std::vector<double> sums(size_t(rows), 0.0);
  forRows(threads, rows, int64_t(values.size()),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              for (int64_t j = 0; j < k; ++j) {
                const double difference =
                    values[size_t(i * k + j)] -
                    scaled[size_t(i * k + j)] / factors[size_t(j)];
                const double error = difference * mean[size_t(j)];
                sums[size_t(i)] += error * error;
              }
          });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

} // namespace

void ActivationStatistics::add(std::span<const float> x) {
  const size_t k = mean.size();
  const int64_t count = int64_t(x.size() / k);
  for (size_t j = 0; j < k; ++j) {
    double sum = double(mean[j]) * double(tokens);
    for (size_t i = 0; i < size_t(count); ++i) {
      const float magnitude = std::abs(x[i * k + j]);
      sum += magnitude;
      largest[j] = std::max(largest[j], magnitude);
    }
    mean[j] = float(sum / double(std::max<int64_t>(1, tokens + count)));
  }
  tokens += count;
}

Expected<ActivationScales>
searchActivationScales(const Scheme& scheme, std::span<const float> values,
                       const ActivationStatistics& statistics, int threads) {
  const int64_t k = int64_t(statistics.mean.size());
  assert(int64_t(values.size()) % k == 0 && "a mean for each input channel");
  std::vector<float> scaled(values.size());
  ActivationScales best;
  for (int step = 0; step <= alphaSteps; ++step) {
    const double alpha = double(step) / alphaSteps;
    const std::vector<float> factors = factorsFor(statistics.mean, alpha);
    for (size_t i = 0; i < values.size(); ++i)
      scaled[i] = values[i] * factors[i % size_t(k)];
    Expected<QuantizedMatrix> made = quantizeMatrix(scheme, scaled, k, threads);
    RECIPERUN_TRY(made);
    const double error = weightedError(values, dequantizeMatrix(*made, threads),
                                       factors, statistics.mean, threads);
    if (step == 0)
      best.plainError = error;
    if (step > 0 && error >= best.error)
      continue;
    best.weight = std::move(*made);
    best.alpha = alpha;
    best.error = error;
    best.inScale.assign(factors.size(), 0);
    for (size_t j = 0; j < factors.size(); ++j)
      best.inScale[j] = 1.0f / factors[j];
  }
  return best;
}

} // namespace reciperun::quantize
