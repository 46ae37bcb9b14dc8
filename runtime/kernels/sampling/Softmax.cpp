// Sums of blocks, and inversion of the cumulative distribution: first over the
// blocks, then within one.

#include "runtime/kernels/sampling/Softmax.h"

#include <algorithm>

namespace reciperun::kernels {
namespace {

double blockSum(std::span<const float> block, SoftmaxWeights weights) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < block.size(); ++i)
    sum += weights.of(block[i]);
  return sum;
}

std::span<const float> blockOf(std::span<const float> logits, size_t block) {
  const size_t begin = block * WeightSums::blockSize;
  return logits.subspan(begin,
                        std::min(WeightSums::blockSize, logits.size() - begin));
}

} // namespace

double WeightSums::compute(std::span<const float> logits,
                           SoftmaxWeights weights) {
  sums.resize((logits.size() + blockSize - 1) / blockSize);
  total = 0;
  for (size_t block = 0; block < sums.size(); ++block) {
    sums[block] = blockSum(blockOf(logits, block), weights);
    total += sums[block];
  }
  return total;
}

int32_t WeightSums::draw(std::span<const float> logits, SoftmaxWeights weights,
                         double uniform) const {
  double left = uniform * total;
  // Due to rounding, there may be a remainder after the last block or token.
  // Then the last one with a weight is drawn.
  size_t chosen = 0;
  for (size_t block = 0; block < sums.size(); ++block) {
    if (sums[block] == 0)
      continue;
    chosen = block;
    if (left < sums[block])
      break;
    left -= sums[block];
  }
  const std::span<const float> block = blockOf(logits, chosen);
  size_t last = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const double weight = weights.of(block[i]);
    if (weight == 0)
      continue;
    last = i;
    if ((left -= weight) < 0)
      break;
  }
  return int32_t(chosen * blockSize + last);
}

} // namespace reciperun::kernels
