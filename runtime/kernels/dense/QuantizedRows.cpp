// Chooses the loops for the processor, and has the portable ones.

#include "runtime/kernels/dense/QuantizedRows.h"

#include "runtime/device/Float8.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

namespace reciperun::kernels {
namespace portable {
namespace {

using sizes::WeightFormat;
using sizes::weightGroup;

constexpr auto fp8Values = device::f8e4m3::table();

constexpr std::array<uint8_t, weightGroup> naturalOrder = [] {
  std::array<uint8_t, weightGroup> order{};
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = uint8_t(i);
  return order;
}();

/// Dequantizes `count` elements of a group, without their scale.
void decodeGroup(WeightFormat format, const uint8_t* from, int64_t count,
                 float* out) {
  switch (format) {
  case WeightFormat::fp8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = fp8Values[from[i]];
    return;
  case WeightFormat::int8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(int8_t(from[i]));
    return;
  case WeightFormat::int4:
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(int(from[i / 2] >> i % 2 * 4 & 15) - 8);
  }
}

/// Sixteen sums, so that the compiler can use vectors of any width.
float dot(const float* a, const float* b) {
  constexpr int64_t lanes = 16;
  float sums[lanes] = {};
  for (int64_t i = 0; i < weightGroup; i += lanes)
    for (int64_t j = 0; j < lanes; ++j)
      sums[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (float each : sums)
    sum += each;
  return sum;
}

void multiply(const QuantizedBlock& block) {
  const QuantizedWeight& weight = *block.weight;
  const auto* x = static_cast<const float*>(block.x);
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t row = block.first + i;
    const uint8_t* stored = weight.data + row * weight.rowBytes();
    const float* scales = weight.scalesOf(row);
    float sums[rowsAtOnce] = {};
    for (int64_t g = 0; g < weight.groups(); ++g) {
      float values[weightGroup] = {};
      decodeGroup(weight.format,
                  stored + sizes::storedWidth(weight.format, g * weightGroup),
                  std::min(weightGroup, weight.k - g * weightGroup), values);
      const float scale = scales[weight.isGrouped() ? g : 0];
      for (int64_t r = 0; r < block.rows; ++r)
        sums[r] += scale * dot(values, x + r * block.stride + g * weightGroup);
    }
    for (int64_t r = 0; r < block.rows; ++r)
      block.sums[r * outputsAtOnce + i] = sums[r];
  }
}

const uint8_t* order(WeightFormat) {
  return naturalOrder.data();
}

} // namespace

const RowsPath path = {"portable", ops::DType::f32, order, multiply};

} // namespace portable

namespace {

std::vector<RowsPath> findRowsPaths() {
  std::vector<RowsPath> paths;
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool has512 = __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  if (has512 && __builtin_cpu_supports("avx512bf16") &&
      __builtin_cpu_supports("avx512vbmi"))
    paths.push_back(avx512bf16::path);
  if (has512)
    paths.push_back(avx512::path);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    paths.push_back(avx2::path);
#endif
  paths.push_back(portable::path);
  return paths;
}

} // namespace

const std::vector<RowsPath>& rowsPaths() {
  static const std::vector<RowsPath> paths = findRowsPaths();
  return paths;
}

const RowsPath& rowsPathFor(ops::DType type) {
  for (const RowsPath& each : rowsPaths())
    if (each.xType == type || each.xType == ops::DType::f32)
      return each;
  assert(false && "the portable path takes any type");
  return portable::path;
}

} // namespace reciperun::kernels
