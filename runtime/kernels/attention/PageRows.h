// Rows of keys and values in 8 bits, as pages store them: a number an element,
// and a scale for the row (ops/attention.ops, `attention_paged`).

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEROWS_H
#define RECIPERUN_KERNELS_ATTENTION_PAGEROWS_H

#include "runtime/device/Float8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace reciperun::kernels {

/// The largest number of P, which a scale maps a row's maximum to.
template <class P> constexpr float largestOfPage();
template <> constexpr float largestOfPage<device::f8e4m3>() {
  return device::f8e4m3::largest();
}
template <> constexpr float largestOfPage<int8_t>() {
  return 127;
}

/// The number of a value that has been divided by its scale.
template <class P> P numberOf(float value);
template <> inline device::f8e4m3 numberOf(float value) {
  return device::f8e4m3(value);
}
template <> inline int8_t numberOf(float value) {
  // A NaN, of a row whose scale is NaN, has no integer.
  return value == value
             ? int8_t(std::nearbyint(std::clamp(value, -127.0f, 127.0f)))
             : int8_t(0);
}

/// The value of a number other than NaN. Vectorises.
inline float valueOf(device::f8e4m3 number) {
  // The exponent's bits where a float has them, and the difference of biases.
  const uint32_t bits = number.bits;
  const float magnitude = std::bit_cast<float>((bits & 0x7f) << 20) * 0x1p120f;
  return bits & 0x80 ? -magnitude : magnitude;
}
inline float valueOf(int8_t number) {
  return float(number);
}

/// Writes the numbers of a row and returns its scale.
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
  for (int64_t i = 0; i < width; ++i)
    to[i] = numberOf<P>(float(from[i]) / scale);
  return scale;
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEROWS_H
