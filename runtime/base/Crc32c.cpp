// Eight bytes at a time by the processor's instruction where it has one,
// otherwise by eight tables (slicing-by-8; Kounavis and Berry, 2005).
//
// Joining appends zeros to the first text: a linear map of the 32 bits, whose
// matrix is squared for each bit of the length (as crc32_combine of zlib does).

#include "runtime/base/Crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace reciperun {
namespace {

constexpr uint32_t polynomial = 0x82f63b78; // bits reversed

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables makeTables() {
  Tables tables = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value & 1 ? value >> 1 ^ polynomial : value >> 1;
    tables[0][i] = value;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = before >> 8 ^ tables[0][before & 0xff];
    }
  return tables;
}

constexpr Tables tables = makeTables();

uint32_t byTables(uint32_t crc, const std::byte* data, size_t size) {
  for (; size >= 8; size -= 8, data += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k)
      crc ^= tables[7 - k][word >> 8 * k & 0xff];
  }
  for (; size > 0; --size, ++data)
    crc = crc >> 8 ^ tables[0][(crc ^ uint32_t(*data)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] uint32_t
byInstruction(uint32_t crc, const std::byte* data, size_t size) {
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, data += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = uint32_t(wide);
  for (; size > 0; --size, ++data)
    crc = _mm_crc32_u8(crc, uint8_t(*data));
  return crc;
}
#endif

/// A linear map of 32 bits: the images of the single bits.
using Matrix = std::array<uint32_t, 32>;

uint32_t imageOf(const Matrix& matrix, uint32_t bits) {
  uint32_t sum = 0;
  for (size_t i = 0; bits != 0; ++i, bits >>= 1)
    if (bits & 1)
      sum ^= matrix[i];
  return sum;
}

Matrix square(const Matrix& matrix) {
  Matrix result;
  for (size_t i = 0; i < 32; ++i)
    result[i] = imageOf(matrix, matrix[i]);
  return result;
}

/// The map of one zero bit appended.
Matrix oneZeroBit() {
  Matrix matrix;
  matrix[0] = polynomial;
  for (size_t i = 1; i < 32; ++i)
    matrix[i] = uint32_t(1) << (i - 1);
  return matrix;
}

constexpr std::string_view base64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool hasInstruction = __builtin_cpu_supports("sse4.2");
  if (hasInstruction)
    return ~byInstruction(~before, bytes.data(), bytes.size());
#endif
  return ~byTables(~before, bytes.data(), bytes.size());
}

uint32_t joinCrc32c(uint32_t first, uint32_t second, uint64_t secondBytes) {
  Matrix zeros = square(square(square(oneZeroBit()))); // of one byte
  for (; secondBytes != 0; secondBytes >>= 1) {
    if (secondBytes & 1)
      first = imageOf(zeros, first);
    zeros = square(zeros);
  }
  return first ^ second;
}

std::string crc32cText(uint32_t crc) {
  std::string text;
  const uint64_t bits = uint64_t(crc) << 4; // 36 bits are six digits
  for (int shift = 30; shift >= 0; shift -= 6)
    text += base64[size_t(bits >> shift & 63)];
  return text + "==";
}

std::optional<uint32_t> parseCrc32c(std::string_view text) {
  if (text.size() != 8 || !text.ends_with("=="))
    return std::nullopt;
  uint64_t bits = 0;
  for (const char c : text.substr(0, 6)) {
    const size_t digit = base64.find(c);
    if (digit == base64.npos)
      return std::nullopt;
    bits = bits << 6 | digit;
  }
  return uint32_t(bits >> 4);
}

} // namespace reciperun
