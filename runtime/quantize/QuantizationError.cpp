// See QuantizationError.h.

#include "runtime/quantize/QuantizationError.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace reciperun::quantize {

QuantizationError&
QuantizationError::operator+=(const QuantizationError& other) {
  elements += other.elements;
  squares += other.squares;
  errorSquares += other.errorSquares;
  largest = std::max(largest, other.largest);
  return *this;
}

double QuantizationError::relative() const {
  return squares > 0 ? std::sqrt(errorSquares / squares) : 0;
}

double QuantizationError::decibels() const {
  return errorSquares > 0 ? 10 * std::log10(squares / errorSquares)
                          : std::numeric_limits<double>::infinity();
}

QuantizationError compare(std::span<const float> original,
                          std::span<const float> quantized) {
  assert(original.size() == quantized.size() && "the same elements");
  QuantizationError error;
  error.elements = int64_t(original.size());
  for (size_t i = 0; i < original.size(); ++i) {
    const double value = original[i], difference = quantized[i] - value;
    error.squares += value * value;
    error.errorSquares += difference * difference;
    error.largest = std::max(error.largest, std::abs(difference));
  }
  return error;
}

} // namespace reciperun::quantize
