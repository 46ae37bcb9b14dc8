// The loops of QuantizedRows.h with AVX-512 (F, BW and VL).

#ifdef __x86_64__

#include "runtime/kernels/dense/QuantizedRows.h"

#include <algorithm>
#include <array>
#include <cstddef>

// GCC 12 warns of its own headers' undefined vectors (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define QUANTIZED_TARGET                                                       \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx2,fma,f16c")]]

namespace reciperun::kernels::avx512 {
namespace {

using Element = float;
using Sum = __m512;
constexpr int mostSums = 8;

QUANTIZED_TARGET inline Sum zero() {
  return _mm512_setzero_ps();
}
QUANTIZED_TARGET inline Sum add(__m512 weights, const float* x, Sum sum) {
  return _mm512_fmadd_ps(weights, _mm512_loadu_ps(x), sum);
}
QUANTIZED_TARGET inline Sum scaled(Sum part, float scale, Sum sum) {
  return _mm512_fmadd_ps(part, _mm512_set1_ps(scale), sum);
}
QUANTIZED_TARGET inline float total(Sum sum) {
  return _mm512_reduce_add_ps(sum);
}

struct Int8 {
  static constexpr int vectors = 8, lanes = 16, bytes = 128;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  template <int t> QUANTIZED_TARGET __m512 vector() const {
    const auto* at = reinterpret_cast<const __m128i*>(from + 16 * t);
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(at)));
  }
};

/// The bits of an f8e4m3, shifted, are an f16 of 2^-8 the value: the exponent's
/// bias is 7 there and 15 here. Subnormal numbers stay right.
struct Fp8 {
  static constexpr int vectors = 8, lanes = 16, bytes = 128;
  static constexpr float unit = 256;
  static constexpr uint8_t zero = 0;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  template <int t> QUANTIZED_TARGET __m512 vector() const {
    const auto* at = reinterpret_cast<const __m128i*>(from + 16 * t);
    const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(at));
    return _mm512_cvtph_ps(_mm256_and_si256(
        _mm256_slli_epi16(wide, 7), _mm256_set1_epi16(int16_t(0xbfff))));
  }
};

/// Vector t is the t-th half byte of each of the 16 words of 8 elements, looked
/// up in a table of values.
struct Int4 {
  static constexpr int vectors = 8, lanes = 16, bytes = 64;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0x88;
  __m512i words;

  QUANTIZED_TARGET void load(const uint8_t* group) {
    words = _mm512_loadu_si512(group);
  }
  template <int t> QUANTIZED_TARGET __m512 vector() const {
    const __m512 values =
        _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(words, t * 4), values);
  }
};

#include "runtime/kernels/dense/QuantizedRowsLoops.inc"

using Order = std::array<uint8_t, size_t(sizes::weightGroup)>;

constexpr Order naturalOrder = [] {
  Order order{};
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = uint8_t(i);
  return order;
}();

constexpr Order int4Order = [] {
  Order order{};
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = uint8_t(i % 16 * 8 + i / 16);
  return order;
}();

const uint8_t* orderOf(sizes::WeightFormat format) {
  return (format == sizes::WeightFormat::int4 ? int4Order : naturalOrder)
      .data();
}

} // namespace

const RowsPath path = {"avx512", ops::DType::f32, orderOf, multiply};

} // namespace reciperun::kernels::avx512

#undef QUANTIZED_TARGET

#endif // __x86_64__
