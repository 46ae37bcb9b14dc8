// How far quantized values are from the original ones.

#ifndef RECIPERUN_QUANTIZE_QUANTIZATIONERROR_H
#define RECIPERUN_QUANTIZE_QUANTIZATIONERROR_H

#include <cstdint>
#include <span>

namespace reciperun::quantize {

/// Sums over elements; addable, so that a weight may be compared run by run.
struct QuantizationError {
  int64_t elements = 0;
  double squares = 0;      // of the original values
  double errorSquares = 0; // of the differences
  double largest = 0;      // difference

  QuantizationError& operator+=(const QuantizationError& other);
  /// The root of errorSquares / squares; 0 when all values are 0.
  double relative() const;
  /// The signal-to-noise ratio in decibels; infinite without an error.
  double decibels() const;
};

QuantizationError compare(std::span<const float> original,
                          std::span<const float> quantized);

} // namespace reciperun::quantize

#endif // RECIPERUN_QUANTIZE_QUANTIZATIONERROR_H
