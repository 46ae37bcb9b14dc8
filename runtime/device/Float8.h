// The 8-bit types: f8e4m3 and f8e5m2 of Micikevicius et al. 2022 (arXiv
// 2209.05433), table 1, and f8e8m0 of OCP's MX specification 1.0, 5.4.1. They
// only store values; arithmetic is in float.
//
// A float is rounded to nearest, ties to even. It saturates at the largest
// finite value; NaN stays NaN.

#ifndef RECIPERUN_DEVICE_FLOAT8_H
#define RECIPERUN_DEVICE_FLOAT8_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace reciperun::device {

/// A sign, an exponent and `mantissa` bits; `largestBits` encodes the largest
/// finite value.
template <int mantissa, int bias, uint8_t largestBits> struct Float8 {
  uint8_t bits = 0;

  /// 448 or 57344, which is 1.75 times the power of two of this exponent.
  static constexpr float largest() { return decode(largestBits); }
  static constexpr int largestExponent = (largestBits >> mantissa) - bias;

  Float8() = default;
  explicit Float8(float value) : bits(encode(value)) {}
  explicit operator float() const { return decode(bits); }

  /// The float value of each of the 256 bit patterns.
  static constexpr std::array<float, 256> table() {
    std::array<float, 256> values{};
    for (int i = 0; i < 256; ++i)
      values[size_t(i)] = decode(uint8_t(i));
    return values;
  }

private:
  static constexpr uint32_t nan = 0x7fc00000;
  static constexpr int shift = 23 - mantissa;

  static constexpr float power(int exponent) {
    return std::bit_cast<float>(uint32_t(127 + exponent) << 23);
  }

  static constexpr float decode(uint8_t bits) {
    const uint32_t sign = uint32_t(bits >> 7) << 31, rest = bits & 0x7f;
    // The infinities of e5m2 decode to NaN, too: encode never writes them.
    if (rest > largestBits)
      return std::bit_cast<float>(sign | nan);
    const float magnitude =
        rest >> mantissa == 0
            ? float(rest) * power(1 - bias - mantissa)
            : std::bit_cast<float>((rest << shift) +
                                   (uint32_t(127 - bias) << 23));
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }

  static constexpr uint8_t encode(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t rest = word & 0x7fffffff;
    const uint8_t sign = uint8_t(word >> 31 << 7);
    if (rest > 0x7f800000)
      return 0x7f;
    const float magnitude = std::bit_cast<float>(rest);
    if (magnitude < power(1 - bias)) { // subnormal
      const float sum =
          magnitude * power(bias + mantissa - 1) + power(23); // rounds
      return uint8_t(sign | (std::bit_cast<uint32_t>(sum) & 0xff));
    }
    const uint32_t rounded =
        (rest + ((uint32_t(1) << (shift - 1)) - 1) + (rest >> shift & 1)) >>
        shift;
    const uint32_t rebased = rounded - (uint32_t(127 - bias) << mantissa);
    return uint8_t(sign | (rebased < largestBits ? rebased : largestBits));
  }
};

using f8e4m3 = Float8<3, 7, 0x7e>;
using f8e5m2 = Float8<2, 15, 0x7b>;

/// 2^(bits - 127), or NaN when the bits are 255: the scale of a block.
struct f8e8m0 {
  uint8_t bits = 0;

  constexpr explicit operator float() const {
    if (bits == notANumber)
      return std::bit_cast<float>(uint32_t(0x7fc00000));
    // 2^-127 is subnormal in f32.
    return std::bit_cast<float>(bits == 0 ? uint32_t(0x00400000)
                                          : uint32_t(bits) << 23);
  }

  /// The factor that a block is multiplied by, for a scale returned by `above`.
  constexpr float inverse() const {
    return std::bit_cast<float>(
        bits == notANumber ? uint32_t(0x7fc00000) : uint32_t(254 - bits) << 23);
  }

  /// The smallest scale that keeps a block, whose largest magnitude is `most`,
  /// within 1.75 2^exponent, the largest value of its type.
  static constexpr f8e8m0 above(float most, int exponent) {
    const uint32_t word = std::bit_cast<uint32_t>(most);
    const int power = int(word >> 23);
    if (power == 255)
      return {notANumber};
    const int isBeyond = (word & 0x7fffff) > 0x600000;
    const int scale = power - exponent + isBeyond;
    return {uint8_t(scale > 0 ? scale : 0)};
  }

private:
  static constexpr uint8_t notANumber = 255;
};

static_assert(sizeof(f8e4m3) == 1 && sizeof(f8e5m2) == 1 &&
              sizeof(f8e8m0) == 1);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_FLOAT8_H
