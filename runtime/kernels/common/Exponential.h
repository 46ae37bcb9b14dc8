// e^x in a form that vectorises.
//
// For float: x = n ln 2 + r with |r| <= ln 2 / 2, e^r by a polynomial of degree
// 6 (Cephes' expf, S. Moshier), times 2^n through the exponent bits. The error
// is at most 2 units in the last place; the result is 0 below -87.3 and e^88
// above 88. For double it calls the library, because only gradient checks use
// double.

#ifndef RECIPERUN_KERNELS_COMMON_EXPONENTIAL_H
#define RECIPERUN_KERNELS_COMMON_EXPONENTIAL_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace reciperun::kernels {

inline float exponential(float x) {
  constexpr float lowest = -87.3f, highest = 88.0f;
  float bounded = x < lowest ? lowest : x;
  bounded = bounded > highest ? highest : bounded;
  // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
  constexpr float rounder = 12582912.0f;
  const float n = (bounded * 1.44269504088896341f + rounder) - rounder;
  const float r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
  float series = 1.9875691500e-4f;
  series = series * r + 1.3981999507e-3f;
  series = series * r + 8.3334519073e-3f;
  series = series * r + 4.1665795894e-2f;
  series = series * r + 1.6666665459e-1f;
  series = series * r + 5.0000001201e-1f;
  series = series * r * r + r + 1.0f;
  const float power = std::bit_cast<float>((int32_t(n) + 127) << 23);
  return x < lowest ? 0.0f : series * power;
}

inline double exponential(double x) {
  return std::exp(x);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_EXPONENTIAL_H
