// Maxima of blocks, and the candidates above a threshold.

#include "runtime/kernels/sampling/LogitBlocks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace reciperun::kernels {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The maximum of a block, NaN if any of its logits is.
float blockMaximum(std::span<const float> block) {
  float best = -infinity;
  int invalid = 0;
#pragma omp simd reduction(max : best) reduction(| : invalid)
  for (size_t i = 0; i < block.size(); ++i) {
    best = block[i] > best ? block[i] : best;
    invalid |= int(block[i] != block[i]);
  }
  return invalid ? std::numeric_limits<float>::quiet_NaN() : best;
}

Status notFinite(std::span<const float> logits) {
  const auto isInvalid = [](float logit) { return !(logit < infinity); };
  const auto first = std::find_if(logits.begin(), logits.end(), isInvalid);
  const auto count = std::count_if(first, logits.end(), isInvalid);
  return Status::error(
      "the logit of token " + std::to_string(first - logits.begin()) + " is " +
      (std::isnan(*first) ? "nan" : "inf") + ", and " + std::to_string(count) +
      " of " + std::to_string(logits.size()) +
      " logits are nan or inf; check the weights, or compute in `fp32`");
}

} // namespace

Status LogitBlocks::scan(std::span<const float> logits) {
  maxima.resize((logits.size() + blockSize - 1) / blockSize);
  largest = -infinity;
  for (size_t i = 0; i < maxima.size(); ++i) {
    const size_t begin = i * blockSize;
    maxima[i] = blockMaximum(
        logits.subspan(begin, std::min(blockSize, logits.size() - begin)));
    if (!(maxima[i] < infinity))
      return notFinite(logits);
    largest = std::max(largest, maxima[i]);
  }
  return Status::ok();
}

int32_t LogitBlocks::likeliest(std::span<const float> logits) const {
  const size_t block =
      size_t(std::find(maxima.begin(), maxima.end(), largest) - maxima.begin());
  const auto begin = logits.begin() + int64_t(block * blockSize);
  return int32_t(std::find(begin, logits.end(), largest) - logits.begin());
}

void LogitBlocks::takeTop(std::span<const float> logits, size_t count,
                          std::vector<Candidate>& out) {
  float least = -infinity;
  if (count > 0 && count < maxima.size()) {
    order = maxima;
    const auto nth = order.begin() + int64_t(count - 1);
    std::nth_element(order.begin(), nth, order.end(), std::greater<>());
    least = *nth;
  }
  takeFrom(logits, least, out);
  if (out.size() > count) {
    std::nth_element(out.begin(), out.begin() + int64_t(count), out.end(),
                     isBefore);
    out.resize(count);
  }
  std::sort(out.begin(), out.end(), isBefore);
}

void LogitBlocks::takeFrom(std::span<const float> logits, float least,
                           std::vector<Candidate>& out) const {
  out.clear();
  for (size_t block = 0; block < maxima.size(); ++block) {
    if (maxima[block] < least || maxima[block] == -infinity)
      continue;
    const size_t begin = block * blockSize;
    const size_t end = std::min(begin + blockSize, logits.size());
    for (size_t i = begin; i < end; ++i)
      if (logits[i] >= least && logits[i] > -infinity)
        out.push_back({logits[i], int32_t(i)});
  }
}

} // namespace reciperun::kernels
