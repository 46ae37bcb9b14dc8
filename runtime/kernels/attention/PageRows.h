// Rows of keys and values quantized to 8 bits, as pages store them: a quantized
// value for each element and a scale for the row (ops/attention.ops,
// `attention_paged`).

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEROWS_H
#define RECIPERUN_KERNELS_ATTENTION_PAGEROWS_H

#include "runtime/device/Float8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace reciperun::kernels {

/// The largest finite value of P. A row's scale maps the row's largest
/// magnitude to it.
template <class P> constexpr float largestOfPage();
template <> constexpr float largestOfPage<device::f8e4m3>() {
  return device::f8e4m3::largest();
}
template <> constexpr float largestOfPage<int8_t>() {
  return 127;
}

/// Quantizes a value that is already multiplied by the inverse of its scale.
template <class P> P numberOf(float value);
template <> inline device::f8e4m3 numberOf(float value) {
  return device::f8e4m3(value);
}
template <> inline int8_t numberOf(float value) {
  // A value is NaN only if the scale of its row is. Its integer does not matter
  // then.
  return value == value
             ? int8_t(std::nearbyint(std::clamp(value, -127.0f, 127.0f)))
             : int8_t(0);
}

/// The value of an f8e4m3 that is not NaN. Loops that call it vectorise.
inline float valueOf(device::f8e4m3 number) {
  // Moves exponent and mantissa to their positions in a float; the factor
  // corrects for the difference of the exponent biases.
  const uint32_t bits = number.bits;
  const float magnitude = std::bit_cast<float>((bits & 0x7f) << 20) * 0x1p120f;
  return bits & 0x80 ? -magnitude : magnitude;
}
inline float valueOf(int8_t number) {
  return float(number);
}

/// Writes a quantized row and returns its scale.
template <class P, class T>
float storeRow(const T* from, int64_t width, P* to) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float most = 0;
  for (int64_t i = 0; i < width; ++i) {
    const float magnitude = std::abs(float(from[i]));
    most = magnitude < infinity ? std::max(most, magnitude) : infinity;
    if (most == infinity)
      break; // NaN, too
  }
  float scale = most / largestOfPage<P>();
  if (scale < 0x1p-126f)
    scale = 1;
  if (most == infinity)
    scale = std::numeric_limits<float>::quiet_NaN();
  const float inverse = 1 / scale;
  for (int64_t i = 0; i < width; ++i)
    to[i] = numberOf<P>(float(from[i]) * inverse);
  return scale;
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEROWS_H
