// Operands and tolerances for comparing GPU kernels with CPU kernels.
//
// Both devices compute in float and round what they store. In bf16 two results
// that agree to a few units of float may lie on both sides of a rounding
// boundary: one unit of bf16, at most 2^-7 of the value. In f32 they differ by
// the order of sums, by FMA contraction, and by e^x, which a GPU computes to (2
// + |x|) 2^-23. When terms cancel, the error is relative to the terms: a
// fraction of the tensor's largest value.

#ifndef RECIPERUN_TEST_KERNELS_CUDAOPERANDS_H
#define RECIPERUN_TEST_KERNELS_CUDAOPERANDS_H

#include "test/runtime/kernels/CudaHarness.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>

namespace reciperun::kernels {

inline constexpr Tolerance exact{};
inline constexpr plan::DType types[] = {plan::DType::f32, plan::DType::bf16};

/// `inF32`, or one unit of bf16 for results rounded to it.
inline Tolerance tolerance(plan::DType type, Tolerance inF32) {
  if (type != plan::DType::bf16)
    return inF32;
  return {std::max(0x1p-7, inF32.relative), inF32.ofLargest};
}

/// A few roundings.
inline constexpr Tolerance fewUnits{0x1p-21, 0};
/// Functions of e^x for |x| up to about 30, and their differences.
inline constexpr Tolerance exponentials{0x1p-17, 0x1p-20};
/// Sums of up to some 10^4 terms, in different orders.
inline constexpr Tolerance sums{0x1p-18, 0x1p-18};

/// Normally distributed values. Large arrays repeat with a prime period, so
/// that their rows differ.
inline Array numbers(plan::DType type, std::vector<int64_t> shape,
                     unsigned seed, double scale = 1) {
  constexpr int64_t period = 65537;
  if (plan::elementCount(shape) <= period)
    return Array::random(type, std::move(shape), seed, scale);
  Array drawn = Array::random(type, {period}, seed, scale);
  Array result(type, std::move(shape));
  const auto* from = static_cast<const std::byte*>(drawn.tensor().data);
  auto* to = static_cast<std::byte*>(result.tensor().data);
  const int64_t bytes = result.tensor().bytes();
  for (int64_t at = 0; at < bytes; at += drawn.tensor().bytes())
    std::memcpy(to + at, from,
                size_t(std::min(drawn.tensor().bytes(), bytes - at)));
  return result;
}

/// Random integers in [0, bound).
inline Array below(int64_t bound, std::vector<int64_t> shape, unsigned seed,
                   plan::DType type = plan::DType::i32) {
  Array result(type, std::move(shape));
  std::mt19937 generator(seed);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, double(generator() % uint64_t(bound)));
  return result;
}

inline Array one(plan::DType type, double value) {
  Array result(type, {1});
  result.set(0, value);
  return result;
}

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_CUDAOPERANDS_H
