// The loops of QuantizedRows.h with AVX2, FMA and F16C.

#ifdef __x86_64__

#include "runtime/kernels/dense/QuantizedRows.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <immintrin.h>

#define QUANTIZED_TARGET [[gnu::target("avx2,fma,f16c")]]

namespace reciperun::kernels::avx2 {
namespace {

using Element = float;
using Sum = __m256;
constexpr int mostSums = 4;

QUANTIZED_TARGET inline Sum zero() {
  return _mm256_setzero_ps();
}
QUANTIZED_TARGET inline Sum add(__m256 weights, const float* x, Sum sum) {
  return _mm256_fmadd_ps(weights, _mm256_loadu_ps(x), sum);
}
QUANTIZED_TARGET inline Sum scaled(Sum part, float scale, Sum sum) {
  return _mm256_fmadd_ps(part, _mm256_set1_ps(scale), sum);
}
QUANTIZED_TARGET inline float total(Sum sum) {
  const __m128 four =
      _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

struct Int8 {
  static constexpr int vectors = 16, lanes = 8, bytes = 128;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  template <int t> QUANTIZED_TARGET __m256 vector() const {
    const auto* at = reinterpret_cast<const __m128i*>(from + 8 * t);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(at)));
  }
};

/// The bits of an f8e4m3, shifted, are an f16 of 2^-8 the value: the exponent's
/// bias is 7 there and 15 here. Subnormal numbers stay right.
struct Fp8 {
  static constexpr int vectors = 16, lanes = 8, bytes = 128;
  static constexpr float unit = 256;
  static constexpr uint8_t zero = 0;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  template <int t> QUANTIZED_TARGET __m256 vector() const {
    const auto* at = reinterpret_cast<const __m128i*>(from + 8 * t);
    const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(at));
    return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(wide, 7),
                                         _mm_set1_epi16(int16_t(0xbfff))));
  }
};

/// Vector t is the (t % 8)-th half byte of each word of 8 elements, of the
/// group's first or second 64 elements.
struct Int4 {
  static constexpr int vectors = 16, lanes = 8, bytes = 64;
  static constexpr float unit = 1;
  static constexpr uint8_t zero = 0x88;
  const uint8_t* from;

  QUANTIZED_TARGET void load(const uint8_t* group) { from = group; }
  template <int t> QUANTIZED_TARGET __m256 vector() const {
    const __m256i words =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + t / 8 * 32));
    const __m256i halves = _mm256_and_si256(_mm256_srli_epi32(words, t % 8 * 4),
                                            _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(halves, _mm256_set1_epi32(8)));
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
    order[i] = uint8_t(i / 64 * 64 + i % 8 * 8 + i % 64 / 8);
  return order;
}();

const uint8_t* orderOf(sizes::WeightFormat format) {
  return (format == sizes::WeightFormat::int4 ? int4Order : naturalOrder)
      .data();
}

} // namespace

const RowsPath path = {"avx2", ops::DType::f32, orderOf, multiply};

} // namespace reciperun::kernels::avx2

#undef QUANTIZED_TARGET

#endif // __x86_64__
