// The matmul of two small bf16 tiles with f32 accumulation.
//
// A word holds two bf16 values that are adjacent along the reduction dimension
// (the even one in the lower half): A is [m, k/2] words, B is [k/2, n] words, C
// [m, n] floats, C += A B. This is the layout of AVX-512's vdpbf16ps, which
// multiplies both halves of a word at once. Without that instruction the halves
// are widened and multiplied one after the other. Blocked like TileMatmul.h.

#ifndef RECIPERUN_DEVICE_CPU_PAIRMATMUL_H
#define RECIPERUN_DEVICE_CPU_PAIRMATMUL_H

#include "runtime/device/cpu/TileMatmul.h"

#include <bit>
#include <cassert>
#include <cstdint>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace reciperun::device {
namespace tile {

#ifdef __AVX512BF16__

/// A vector of sums.
struct PairSum {
  __m512 sum;
  void load(const float* from) { sum = _mm512_loadu_ps(from); }
  void store(float* to) const { _mm512_storeu_ps(to, sum); }
};
struct PairWords {
  __m512bh words;
  void load(const uint32_t* from) {
    words = __m512bh(_mm512_loadu_si512(from));
  }
};
struct PairLeft {
  __m512bh word;
  explicit PairLeft(uint32_t value)
      : word(__m512bh(_mm512_set1_epi32(int(value)))) {}
  void addTo(PairSum& to, const PairWords& right) const {
    to.sum = _mm512_dpbf16_ps(to.sum, word, right.words);
  }
};

#else

struct PairSum {
  Vector<float> sum;
  void load(const float* from) {
    sum = *reinterpret_cast<const Vector<float>*>(from);
  }
  void store(float* to) const { *reinterpret_cast<Vector<float>*>(to) = sum; }
};
struct PairWords {
  Vector<float> low, high;
  void load(const uint32_t* from) {
    using Bits
        [[gnu::vector_size(vectorBytes), gnu::aligned(4), gnu::may_alias]] =
            uint32_t;
    const Bits words = *reinterpret_cast<const Bits*>(from);
    low = Vector<float>(words << 16);
    high = Vector<float>(words & 0xffff0000u);
  }
};
struct PairLeft {
  float low, high;
  explicit PairLeft(uint32_t value)
      : low(std::bit_cast<float>(value << 16)),
        high(std::bit_cast<float>(value & 0xffff0000u)) {}
  void addTo(PairSum& to, const PairWords& right) const {
    to.sum += low * right.low + high * right.high;
  }
};

#endif

template <int height, int width>
[[gnu::always_inline]] inline void pairBlock(int64_t pairs, Strided<uint32_t> a,
                                             const uint32_t* b, int64_t rowB,
                                             float* c, int64_t rowC) {
  PairSum sum[height][width];
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      sum[i][j].load(c + i * rowC + j * vectorLength<float>);
  for (int64_t p = 0; p < pairs; ++p) {
    PairWords right[width];
    for (int j = 0; j < width; ++j)
      right[j].load(b + p * rowB + j * vectorLength<float>);
    for (int i = 0; i < height; ++i) {
      const PairLeft left(a.data[i * a.row + p * a.column]);
      for (int j = 0; j < width; ++j)
        left.addTo(sum[i][j], right[j]);
    }
  }
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      sum[i][j].store(c + i * rowC + j * vectorLength<float>);
}

template <int width>
void pairColumn(int64_t m, int64_t pairs, Strided<uint32_t> a,
                const uint32_t* b, int64_t rowB, float* c, int64_t rowC) {
  int64_t i = 0;
  for (; i + rows <= m; i += rows, a.data += rows * a.row, c += rows * rowC)
    pairBlock<rows, width>(pairs, a, b, rowB, c, rowC);
  for (; i < m; ++i, a.data += a.row, c += rowC)
    pairBlock<1, width>(pairs, a, b, rowB, c, rowC);
}

} // namespace tile

/// C += A B with A [m, pairs] words, B [pairs, n] words of row stride `rowB`
/// and C [m, n] of row stride `rowC`. `n` is a multiple of lanes<float>.
inline void pairMatmul(int64_t m, int64_t n, int64_t pairs, Strided<uint32_t> a,
                       const uint32_t* b, int64_t rowB, float* c,
                       int64_t rowC) {
  assert(n % lanes<float> == 0 && "a tile's width is whole vectors");
  constexpr int64_t length = tile::vectorLength<float>;
  constexpr int64_t step = tile::vectors * length;
  int64_t j = 0;
  for (; j + step <= n; j += step)
    tile::pairColumn<tile::vectors>(m, pairs, a, b + j, rowB, c + j, rowC);
  for (; j < n; j += length)
    tile::pairColumn<1>(m, pairs, a, b + j, rowB, c + j, rowC);
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_PAIRMATMUL_H
