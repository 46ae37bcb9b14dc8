// A value is NaN or infinite when all bits of its exponent are set (IEEE 754,
// 3.4). A branch-free loop first counts such values in a piece at memory
// bandwidth. Only a piece that has one is searched.

#include "runtime/checkpoint/FiniteCheck.h"

#include "runtime/checkpoint/Safetensors.h"

#include <cmath>
#include <cstring>

namespace reciperun::checkpoint {
namespace {

template <class Bits> Bits bitsAt(const std::byte* in, int64_t index) {
  Bits bits;
  std::memcpy(&bits, in + index * int64_t(sizeof bits), sizeof bits);
  return bits;
}

template <class Bits>
int64_t countNonFinite(const std::byte* in, int64_t count, Bits exponent) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i)
    found += (bitsAt<Bits>(in, i) & exponent) == exponent;
  return found;
}

int64_t countNonFinite(ElementType type, const std::byte* in, int64_t count) {
  switch (type) {
  case ElementType::f64:
    return countNonFinite<uint64_t>(in, count, 0x7ff0000000000000);
  case ElementType::f32:
    return countNonFinite<uint32_t>(in, count, 0x7f800000);
  case ElementType::f16:
    return countNonFinite<uint16_t>(in, count, 0x7c00);
  case ElementType::bf16:
    return countNonFinite<uint16_t>(in, count, 0x7f80);
  }
  return 0;
}

double valueAt(ElementType type, const std::byte* in, int64_t index) {
  double value = 0;
  convertElements(type, in + index * byteSize(type), plan::DType::f64,
                  reinterpret_cast<std::byte*>(&value), 1);
  return value;
}

std::string indexText(int64_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0; element /= shape[i])
    index[i] = element % shape[i];
  return shapeText(index);
}

} // namespace

void FiniteCheck::look(ElementType type, std::span<const std::byte> bytes,
                       int64_t first) {
  const int64_t count = int64_t(bytes.size()) / byteSize(type);
  const int64_t here = countNonFinite(type, bytes.data(), count);
  if (here == 0)
    return;
  int64_t index = 0;
  while (std::isfinite(valueAt(type, bytes.data(), index)))
    ++index;
  if (found == 0 || first + index < lowest) {
    lowest = first + index;
    value = valueAt(type, bytes.data(), index);
  }
  found += here;
}

Status FiniteCheck::outcome(const std::string& tensor,
                            const std::vector<int64_t>& shape) const {
  if (found == 0)
    return Status::ok();
  const char* what = std::isnan(value) ? "NaN"
                     : value > 0       ? "infinity"
                                       : "-infinity";
  return Status::error(
      "tensor `" + tensor + "` of shape " + shapeText(shape) + " has " + what +
      " at " + indexText(lowest, shape) + ", and " + std::to_string(found) +
      (found == 1 ? " value that is" : " values that are") +
      " not finite in all; the weights are damaged: copy them again, or take "
      "an earlier checkpoint");
}

} // namespace reciperun::checkpoint
