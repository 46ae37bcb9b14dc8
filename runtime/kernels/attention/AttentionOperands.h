// The layouts of attention's tiles for the small matmuls of a type.
//
// A matmul C += A B sums over words. For f32 and f64 a word is one element. For
// bf16 it is two consecutive elements of the summed dimension, so that the
// processor multiplies bf16 directly (PairMatmul.h). Each operand of the
// algorithm is converted to one of three layouts:
//   left    rows unchanged, words along the row    (A, summed over the row)
//   across  transposed, columns of 64 queries      (B, summed over the width)
//   right   rows unchanged, words down the columns (B, summed over the rows)
// Scores [keys, queries] have type M and serve as A summed over either
// dimension.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONOPERANDS_H
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONOPERANDS_H

#include "runtime/device/cpu/PairMatmul.h"
#include "runtime/kernels/attention/AttentionTiles.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace reciperun::kernels {

/// Operands of f32 and f64: a word is one element.
template <class T> struct AttentionOperands {
  using Word = T;

  /// The number of words for `count` summed elements.
  static int64_t words(int64_t count) { return count; }

  /// Copies `from` [rows, width] of row stride `stride` to `to` [rows,
  /// words(width)].
  static void left(const T* from, int64_t stride, int64_t rows, int64_t width,
                   Word* to) {
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(from + i * stride, width, to + i * width);
  }

  /// `to` [words(width), tileQueries], with zeros in the columns from `rows`
  /// on.
  static void across(const T* from, int64_t stride, int64_t rows, int64_t width,
                     Word* to) {
    for (int64_t j = 0; j < width; ++j) {
      Word* out = to + j * tileQueries;
      for (int64_t i = 0; i < rows; ++i)
        out[i] = from[i * stride + j];
      std::fill(out + rows, out + tileQueries, Word(0));
    }
  }

  /// `to` [words(rows), padded], with zeros after the width.
  static void right(const T* from, int64_t stride, int64_t rows, int64_t width,
                    int64_t padded, Word* to) {
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(from + i * stride, width, to + i * padded);
      std::fill(to + i * padded + width, to + (i + 1) * padded, Word(0));
    }
  }

  /// Scores [keys, tileQueries] as A [queries, words(keys)].
  static device::Strided<Word> overKeys(const T* scores, int64_t, Word*) {
    return {scores, 1, tileQueries};
  }
  /// Scores [keys, tileQueries] as A [keys, words(tileQueries)].
  static device::Strided<Word> overQueries(const T* scores, int64_t, Word*) {
    return {scores, tileQueries, 1};
  }

  /// C [m, n] += A B over `count` elements: a multiple of a word's elements, or
  /// followed by zeros.
  static void product(int64_t m, int64_t n, int64_t count,
                      device::Strided<Word> a, const Word* b, int64_t rowB,
                      T* c, int64_t rowC) {
    device::tileMatmul(m, n, count, a, b, rowB, c, rowC);
  }
};

/// Operands of bf16: a word is two elements, the earlier one in its lower half.
template <> struct AttentionOperands<bf16> {
  using Word = uint32_t;

  static int64_t words(int64_t count) { return (count + 1) / 2; }

  static void left(const bf16* from, int64_t stride, int64_t rows,
                   int64_t width, Word* to) {
    for (int64_t i = 0; i < rows; ++i, from += stride, to += words(width)) {
#pragma omp simd
      for (int64_t j = 0; j < width / 2; ++j)
        to[j] = pair(from[2 * j], from[2 * j + 1]);
      if (width % 2)
        to[width / 2] = from[width - 1].bits;
    }
  }

  static void across(const bf16* from, int64_t stride, int64_t rows,
                     int64_t width, Word* to) {
    for (int64_t j = 0; j < words(width); ++j) {
      Word* out = to + j * tileQueries;
      const bf16* column = from + 2 * j;
      const bool whole = 2 * j + 1 < width;
      for (int64_t i = 0; i < rows; ++i)
        out[i] =
            pair(column[i * stride], whole ? column[i * stride + 1] : bf16());
      std::fill(out + rows, out + tileQueries, Word(0));
    }
  }

  static void right(const bf16* from, int64_t stride, int64_t rows,
                    int64_t width, int64_t padded, Word* to) {
    for (int64_t i = 0; i < rows; i += 2, to += padded) {
      const bf16* even = from + i * stride;
      const bf16* odd = even + stride;
      if (i + 1 < rows) {
#pragma omp simd
        for (int64_t j = 0; j < width; ++j)
          to[j] = pair(even[j], odd[j]);
      } else {
        for (int64_t j = 0; j < width; ++j)
          to[j] = even[j].bits;
      }
      std::fill(to + width, to + padded, Word(0));
    }
  }

  static device::Strided<Word> overKeys(const float* scores, int64_t keys,
                                        Word* to) {
    for (int64_t k = 0; k < keys; k += 2) {
      const float* even = scores + k * tileQueries;
      // The last of an odd number of keys has no partner; 0 takes its place.
      const float* odd = k + 1 < keys ? even + tileQueries : even;
      const Word mask = k + 1 < keys ? 0xffff0000u : 0u;
      Word* out = to + k / 2 * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        out[q] = (rounded(even[q]) >> 16) | (rounded(odd[q]) & mask);
    }
    return {to, 1, tileQueries};
  }

  static device::Strided<Word> overQueries(const float* scores, int64_t keys,
                                           Word* to) {
    const int64_t count = keys * tileQueries / 2;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      to[i] = (rounded(scores[2 * i]) >> 16) |
              (rounded(scores[2 * i + 1]) & 0xffff0000u);
    return {to, tileQueries / 2, 1};
  }

  static void product(int64_t m, int64_t n, int64_t count,
                      device::Strided<Word> a, const Word* b, int64_t rowB,
                      float* c, int64_t rowC) {
    device::pairMatmul(m, n, words(count), a, b, rowB, c, rowC);
  }

private:
  static Word pair(bf16 even, bf16 odd) {
    return Word(even.bits) | Word(odd.bits) << 16;
  }
  /// A finite number with its upper half rounded to nearest even.
  static Word rounded(float value) {
    const Word word = std::bit_cast<Word>(value);
    return word + 0x7fff + (word >> 16 & 1);
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONOPERANDS_H
