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
/// The lower bound of a channel's mean, so that unused channels get a positive
/// factor.
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

std::vector<float> inverse(const std::vector<float>& factors) {
  std::vector<float> inverses;
  for (float factor : factors)
    inverses.push_back(1.0f / factor);
  return inverses;
}

/// The expected square error of W's outputs when `scaled`, the dequantized W s,
/// replaces W.
double outputError(std::span<const float> values,
                   const std::vector<float>& scaled,
                   const std::vector<float>& factors,
                   const std::vector<float>& meanSquare, int threads) {
  const int64_t k = int64_t(factors.size());
  const int64_t rows = int64_t(values.size()) / k;
  std::vector<double> sums(size_t(rows), 0.0);
  forRows(
      threads, rows, int64_t(values.size()), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t j = 0; j < k; ++j) {
            const double difference =
                values[size_t(i * k + j)] -
                scaled[size_t(i * k + j)] / factors[size_t(j)];
            sums[size_t(i)] += difference * difference * meanSquare[size_t(j)];
          }
      });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

} // namespace

void ActivationStatistics::add(std::span<const float> x) {
  const size_t k = mean.size();
  const int64_t count = int64_t(x.size() / k);
  const double all = double(std::max<int64_t>(1, tokens + count));
  for (size_t j = 0; j < k; ++j) {
    double sum = double(mean[j]) * double(tokens),
           squares = double(meanSquare[j]) * double(tokens);
    for (size_t i = 0; i < size_t(count); ++i) {
      const double value = x[i * k + j];
      sum += std::abs(value);
      squares += value * value;
    }
    mean[j] = float(sum / all);
    meanSquare[j] = float(squares / all);
  }
  tokens += count;
}

void ActivationStatistics::add(const ActivationStatistics& other) {
  const double all = double(std::max<int64_t>(1, tokens + other.tokens));
  const double own = double(tokens) / all, others = double(other.tokens) / all;
  for (size_t j = 0; j < mean.size(); ++j) {
    mean[j] = float(own * mean[j] + others * other.mean[j]);
    meanSquare[j] = float(own * meanSquare[j] + others * other.meanSquare[j]);
  }
  tokens += other.tokens;
}

ActivationScaleSearch::ActivationScaleSearch(
    const Scheme& scheme, const ActivationStatistics& statistics, int threads)
    : scheme(scheme), statistics(statistics), threads(threads),
      errors(alphaSteps + 1, 0.0) {
  assert((scheme.scales == WeightScales::rows ||
          scheme.scales == WeightScales::groups) &&
         "runs of rows are quantized alone");
  for (int step = 0; step <= alphaSteps; ++step)
    factors.push_back(factorsFor(statistics.mean, double(step) / alphaSteps));
}

Status ActivationScaleSearch::add(std::span<const float> rows,
                                  const ActivationStatistics& part) {
  const size_t k = statistics.mean.size();
  assert(rows.size() % k == 0 && "a mean for each input channel");
  const double share =
      double(part.tokens) / double(std::max<int64_t>(1, statistics.tokens));
  scaled.resize(rows.size());
  for (size_t step = 0; step < factors.size(); ++step) {
    const std::vector<float>& s = factors[step];
    for (size_t i = 0; i < rows.size(); ++i)
      scaled[i] = rows[i] * s[i % k];
    Expected<QuantizedMatrix> made =
        quantizeMatrix(scheme, scaled, int64_t(k), threads,
                       columnImportance(part, inverse(s)));
    RECIPERUN_TRY(made);
    errors[step] += share * outputError(rows, dequantizeMatrix(*made, threads),
                                        s, part.meanSquare, threads);
  }
  return Status::ok();
}

ActivationScales ActivationScaleSearch::best() const {
  const size_t step =
      size_t(std::min_element(errors.begin(), errors.end()) - errors.begin());
  ActivationScales found;
  found.alpha = double(step) / alphaSteps;
  found.error = errors[step];
  found.plainError = errors[0];
  found.inScale = inverse(factors[step]);
  return found;
}

std::vector<float> columnImportance(const ActivationStatistics& statistics,
                                    std::span<const float> inScale) {
  std::vector<float> importance = statistics.meanSquare;
  for (size_t j = 0; j < importance.size(); ++j)
    importance[j] *= inScale[j] * inScale[j];
  return importance;
}

void scaleInputs(std::span<const float> inScale, std::span<float> rows) {
  for (size_t i = 0; i < rows.size(); i += inScale.size())
    for (size_t j = 0; j < inScale.size(); ++j)
      rows[i + j] /= inScale[j];
}

} // namespace reciperun::quantize
