// See QuantizedPanel.h. The loops have no branches or tables, so that the
// compiler vectorises them.

#include "runtime/kernels/dense/QuantizedPanel.h"

#include <algorithm>
#include <bit>

namespace reciperun::kernels {
namespace {

using device::bf16;
using sizes::WeightFormat;
using sizes::weightGroup;

/// The value of an f8e4m3. NaN is not stored.
float fp8Value(uint8_t bits) {
  const uint32_t magnitude = bits & 0x7f;
  // Normal: the exponent's bias is 7 there and 127 here.
  const float normal =
      std::bit_cast<float>((magnitude << 20) + (uint32_t(127 - 7) << 23));
  const float subnormal = float(int(magnitude)) * 0x1p-9f;
  const float value = magnitude < 8 ? subnormal : normal;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) |
                              uint32_t(bits & 0x80) << 24);
}

/// Dequantizes a group of up to 128 elements, times `scale`.
void dequantizeGroup(WeightFormat format, const uint8_t* from, int64_t count,
                     float scale, float* out) {
  switch (format) {
  case WeightFormat::fp8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = fp8Value(from[i]) * scale;
    return;
  case WeightFormat::int8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(int8_t(from[i])) * scale;
    return;
  case WeightFormat::int4:
    for (int64_t i = 0; i < count / 2; ++i) {
      out[2 * i] = float(int(from[i] & 15) - 8) * scale;
      out[2 * i + 1] = float(int(from[i] >> 4) - 8) * scale;
    }
  }
}

} // namespace

void dequantizeRow(const QuantizedWeight& weight, int64_t row, bf16* out) {
  const uint8_t* from = weight.data + row * weight.rowBytes();
  const float* scales = weight.scalesOf(row);
  for (int64_t g = 0; g < weight.groups(); ++g) {
    const int64_t begin = g * weightGroup;
    const int64_t count = std::min(weightGroup, weight.k - begin);
    float values[weightGroup];
    dequantizeGroup(weight.format,
                    from + sizes::storedWidth(weight.format, begin), count,
                    weight.isGrouped() ? scales[g] : 1.0f, values);
    for (int64_t i = 0; i < count; ++i)
      out[begin + i] = bf16(values[i]);
  }
}

} // namespace reciperun::kernels
