// The bf16 type: the upper half of a float. It only stores values; arithmetic
// is in float.

#ifndef RECIPERUN_DEVICE_BFLOAT16_H
#define RECIPERUN_DEVICE_BFLOAT16_H

#include <bit>
#include <cstdint>

namespace reciperun::device {

struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  /// Rounds to nearest, ties to even; NaN stays NaN. The code has no branches,
  /// so that loops over it vectorise.
  explicit bf16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;
    const uint32_t quiet = word >> 16 | 0x40;
    const bool isNan = (word & 0x7fffffff) > 0x7f800000;
    bits = uint16_t(isNan ? quiet : rounded);
  }
  explicit bf16(double value) : bf16(float(value)) {}

  bf16(const bf16&) = default;
  /// Copies the member explicitly, because the vectoriser does not support
  /// copies of whole structures.
  bf16& operator=(const bf16& other) {
    bits = other.bits;
    return *this;
  }

  explicit operator float() const {
    return std::bit_cast<float>(uint32_t(bits) << 16);
  }
  explicit operator double() const { return float(*this); }
};

static_assert(sizeof(bf16) == 2);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_BFLOAT16_H
