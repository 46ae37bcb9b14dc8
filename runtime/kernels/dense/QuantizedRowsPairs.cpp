// The loops of QuantizedRows.h with AVX-512's dot products of bf16 pairs (BF16,
// and VBMI for tables of bytes). All stored values of the three formats are
// bf16 numbers, so dequantizing does not round, and the products are summed in
// f32.

#ifdef __x86_64__

#include "runtime/device/BFloat16.h"
#include "runtime/device/Float8.h"
#include "runtime/kernels/dense/QuantizedRows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

// GCC 12 warns of its own headers' undefined vectors (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define QUANTIZED_TARGET                                                       \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16,avx512vbmi,avx2,fma")]]

namespace reciperun::kernels::avx512bf16 {
namespace {

using Element = device::bf16;
using Sum = __m512;
constexpr int mostSums = 8;

QUANTIZED_TARGET inline Sum zero() {
  return _mm512_setzero_ps();
}
QUANTIZED_TARGET inline Sum add(__m512i weights, const Element* x, Sum sum) {
  return _mm512_dpbf16_ps(sum, (__m512bh)weights,
                          (__m512bh)_mm512_loadu_si512(x));
}
QUANTIZED_TARGET inline Sum scaled(Sum part, float scale, Sum sum) {
  return _mm512_fmadd_ps(part, _mm512_set1_ps(scale), sum);
}
QUANTIZED_TARGET inline float total(Sum sum) {
  return _mm512_reduce_add_ps(sum);
}

/// Pair i of a vector has elements i and i + 16 of the vector's 32.
struct Int8 {
  static constexpr int vectors = 4, lanes = 32, bytes = 128;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  QUANTIZED_TARGET __m512i floats(const uint8_t* at) const {
    const __m128i stored =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm512_castps_si512(
        _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(stored)));
  }
  template <int t> QUANTIZED_TARGET __m512i vector() const {
    return _mm512_mask_blend_epi16(0xaaaaaaaa,
                                   _mm512_srli_epi32(floats(from + 32 * t), 16),
                                   floats(from + 32 * t + 16));
  }
};

/// The low or the high bytes of the bf16 values of the patterns 0 to 127.
template <int shift> struct HalfTable {
  alignas(64) uint8_t bytes[128];
  constexpr HalfTable() : bytes() {
    constexpr auto values = device::f8e4m3::table();
    for (size_t i = 0; i < 128; ++i)
      bytes[i] = uint8_t(std::bit_cast<uint32_t>(values[i]) >> (16 + shift));
  }
};
constexpr HalfTable<0> lowBytes;
constexpr HalfTable<8> highBytes;

/// Both bytes of a value come from a table of its magnitude. Unpacking puts
/// bytes 0 to 7 of each 16 into an even vector and the others into an odd one.
struct Fp8 {
  static constexpr int vectors = 4, lanes = 32, bytes = 128;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  template <int t> QUANTIZED_TARGET __m512i vector() const {
    const __m512i stored = _mm512_loadu_si512(from + t / 2 * 64);
    const __m512i low =
        _mm512_permutex2var_epi8(_mm512_load_si512(lowBytes.bytes), stored,
                                 _mm512_load_si512(lowBytes.bytes + 64));
    const __m512i magnitude =
        _mm512_permutex2var_epi8(_mm512_load_si512(highBytes.bytes), stored,
                                 _mm512_load_si512(highBytes.bytes + 64));
    constexpr int orAnd = 0xf8; // a | (b & c)
    const __m512i high = _mm512_ternarylogic_epi32(
        magnitude, stored, _mm512_set1_epi8(int8_t(0x80)), orAnd);
    return t % 2 == 0 ? _mm512_unpacklo_epi8(low, high)
                      : _mm512_unpackhi_epi8(low, high);
  }
};

/// Vector t is the t-th half byte of each of the 32 words of 4 elements, looked
/// up in a table of values. The lookup ignores all but 5 bits of an index, and
/// the table has each value twice.
struct Int4 {
  static constexpr int vectors = 4, lanes = 32, bytes = 64;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0x88;
  __m512i words;

  struct Table {
    alignas(64) uint16_t values[32];
    constexpr Table() : values() {
      for (int i = 0; i < 32; ++i)
        values[i] = uint16_t(std::bit_cast<uint32_t>(float(i % 16 - 8)) >> 16);
    }
  };

  QUANTIZED_TARGET void load(const uint8_t* group) {
    words = _mm512_loadu_si512(group);
  }
  template <int t> QUANTIZED_TARGET __m512i vector() const {
    static constexpr Table table;
    return _mm512_permutexvar_epi16(_mm512_srli_epi16(words, t * 4),
                                    _mm512_load_si512(table.values));
  }
};

#include "runtime/kernels/dense/QuantizedRowsLoops.inc"

using Order = std::array<uint8_t, size_t(sizes::weightGroup)>;

constexpr Order fp8Order = [] {
  Order order{};
  for (size_t i = 0; i < order.size(); ++i) // [2 halves][2][4 lanes][8]
    order[i] = uint8_t(i / 64 * 64 + i % 32 / 8 * 16 + i / 32 % 2 * 8 + i % 8);
  return order;
}();

constexpr Order int8Order = [] {
  Order order{};
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = uint8_t(i / 32 * 32 + i % 2 * 16 + i % 32 / 2);
  return order;
}();

constexpr Order int4Order = [] {
  Order order{};
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = uint8_t(i % 32 * 4 + i / 32);
  return order;
}();

const uint8_t* orderOf(sizes::WeightFormat format) {
  switch (format) {
  case sizes::WeightFormat::fp8:
    return fp8Order.data();
  case sizes::WeightFormat::int8:
    return int8Order.data();
  case sizes::WeightFormat::int4:
    break;
  }
  return int4Order.data();
}

} // namespace

const RowsPath path = {"avx512bf16", ops::DType::bf16, orderOf, multiply};

} // namespace reciperun::kernels::avx512bf16

#undef QUANTIZED_TARGET

#endif // __x86_64__
