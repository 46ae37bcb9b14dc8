// See WeightScales.h.

#include "runtime/sizes/WeightScales.h"

#include "runtime/sizes/ScaleBlocks.h"

#include <array>
#include <cassert>

namespace reciperun::sizes {
namespace {

struct FormatInfo {
  const char* name;
  ops::DType type;
  float largest;
};
// In the order of WeightFormat.
constexpr std::array<FormatInfo, 3> formats = {
    {{"fp8", ops::DType::f8e4m3, 448.0f},
     {"int8", ops::DType::i8, 127.0f},
     {"int4", ops::DType::u8, 7.0f}}};

// In the order of WeightScales.
constexpr std::array<const char*, 4> scaleNames = {"tensor", "rows", "groups",
                                                   "squares"};

int64_t groupsIn(int64_t count) {
  return (count + weightGroup - 1) / weightGroup;
}

} // namespace

const char* weightFormatName(WeightFormat format) {
  return formats[size_t(format)].name;
}

std::optional<WeightFormat> findWeightFormat(std::string_view name) {
  for (size_t i = 0; i < formats.size(); ++i)
    if (formats[i].name == name)
      return WeightFormat(i);
  return std::nullopt;
}

std::optional<WeightFormat> weightFormatOf(ops::DType type) {
  for (size_t i = 0; i < formats.size(); ++i)
    if (formats[i].type == type)
      return WeightFormat(i);
  return std::nullopt;
}

ops::DType storedType(WeightFormat format) {
  return formats[size_t(format)].type;
}

const char* weightScalesName(WeightScales scales) {
  return scaleNames[size_t(scales)];
}

std::optional<WeightScales> findWeightScales(std::string_view word) {
  if (word.empty())
    return WeightScales::tensor;
  for (size_t i = 0; i < scaleNames.size(); ++i)
    if (scaleNames[i] == word)
      return WeightScales(i);
  return std::nullopt;
}

int64_t storedWidth(WeightFormat format, int64_t k) {
  return format == WeightFormat::int4 ? (k + 1) / 2 : k;
}

std::vector<int64_t> scaleShape(WeightScales scales, int64_t n, int64_t k) {
  switch (scales) {
  case WeightScales::tensor:
    return {1};
  case WeightScales::rows:
    return {n};
  case WeightScales::groups:
    return {n, groupsIn(k)};
  case WeightScales::squares:
    return {groupsIn(n), groupsIn(k)};
  }
  assert(false && "no kind of scales");
  return {};
}

bool fitsSquares(int64_t n, int64_t k) {
  return n % weightGroup == 0 && scalesOf(ScaleBlocks::squares, n, k).shape ==
                                     scaleShape(WeightScales::squares, n, k);
}

float largestStored(WeightFormat format) {
  return formats[size_t(format)].largest;
}

} // namespace reciperun::sizes
