// Conversion of stored elements to compute types, one loop for each pair of
// types.

#include "runtime/checkpoint/Elements.h"

#include "runtime/device/MasterHalves.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace reciperun::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors are little-endian and are read as they lie");

struct F64 {
  using Bits = double;
  static double load(double bits) { return bits; }
  static double store(double value) { return value; }
};
struct F32 {
  using Bits = float;
  static float load(float bits) { return bits; }
  static float store(double value) { return static_cast<float>(value); }
};
struct F16 {
  using Bits = uint16_t;
  static float load(uint16_t bits) { return f16ToFloat(bits); }
};
struct Bf16 {
  using Bits = uint16_t;
  static float load(uint16_t bits) { return bf16ToFloat(bits); }
  static uint16_t store(double value) {
    return floatToBf16(static_cast<float>(value));
  }
};

struct Parameter {
  using Bits = uint16_t;
  static uint16_t store(double value) {
    return device::splitMaster(static_cast<float>(value)).parameter;
  }
};

/// Copies bits with memcpy, since elements may be unaligned in a file's buffer.
template <class From, class To>
void convertLoop(const std::byte* in, std::byte* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    typename From::Bits stored;
    std::memcpy(&stored, in + i * int64_t(sizeof stored), sizeof stored);
    typename To::Bits made = To::store(From::load(stored));
    std::memcpy(out + i * int64_t(sizeof made), &made, sizeof made);
  }
}

template <class From>
void convertFrom(const std::byte* in, plan::DType to, std::byte* out,
                 int64_t count) {
  switch (to) {
  case plan::DType::f64:
    return convertLoop<From, F64>(in, out, count);
  case plan::DType::f32:
    return convertLoop<From, F32>(in, out, count);
  case plan::DType::bf16:
    return convertLoop<From, Bf16>(in, out, count);
  case plan::DType::i32:
  case plan::DType::i64:
  case plan::DType::u16:
  case plan::DType::f8e4m3:
  case plan::DType::f8e5m2:
  case plan::DType::f8e8m0:
  case plan::DType::i8:
  case plan::DType::u8:
    break;
  }
  assert(false && "weights have a floating-point compute type");
}

} // namespace

int64_t byteSize(ElementType type) {
  switch (type) {
  case ElementType::f64:
    return 8;
  case ElementType::f32:
    return 4;
  case ElementType::f16:
  case ElementType::bf16:
    return 2;
  }
  return 0;
}

std::optional<ElementType> findElementType(std::string_view dtype) {
  if (dtype == "F64")
    return ElementType::f64;
  if (dtype == "F32")
    return ElementType::f32;
  if (dtype == "F16")
    return ElementType::f16;
  if (dtype == "BF16")
    return ElementType::bf16;
  return std::nullopt;
}

std::string_view safetensorsName(plan::DType type) {
  switch (type) {
  case plan::DType::f64:
    return "F64";
  case plan::DType::f32:
    return "F32";
  case plan::DType::bf16:
    return "BF16";
  case plan::DType::i32:
    return "I32";
  case plan::DType::i64:
    return "I64";
  case plan::DType::u16:
    return "U16";
  case plan::DType::f8e4m3:
    return "F8_E4M3";
  case plan::DType::f8e5m2:
    return "F8_E5M2";
  case plan::DType::f8e8m0:
    return "F8_E8M0";
  case plan::DType::i8:
    return "I8";
  case plan::DType::u8:
    return "U8";
  }
  return "";
}

void convertElements(ElementType from, const std::byte* in, plan::DType to,
                     std::byte* out, int64_t count) {
  switch (from) {
  case ElementType::f64:
    return convertFrom<F64>(in, to, out, count);
  case ElementType::f32:
    return convertFrom<F32>(in, to, out, count);
  case ElementType::f16:
    return convertFrom<F16>(in, to, out, count);
  case ElementType::bf16:
    // A copy preserves NaN payloads, so that bf16 round trips exactly.
    if (to == plan::DType::bf16) {
      std::memcpy(out, in, static_cast<size_t>(count) * 2);
      return;
    }
    return convertFrom<Bf16>(in, to, out, count);
  }
}

void convertMasters(ElementType from, const std::byte* in, std::byte* out,
                    int64_t count) {
  if (from == ElementType::f64)
    return convertLoop<F64, Parameter>(in, out, count);
  if (from == ElementType::f32)
    return convertLoop<F32, Parameter>(in, out, count);
  convertElements(from, in, plan::DType::bf16, out, count);
}

float bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

uint16_t floatToBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  // Rounding must not carry a NaN into infinity.
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {
    // Subnormal: fraction * 2^-24, which a float holds exactly.
    float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

} // namespace reciperun::checkpoint
