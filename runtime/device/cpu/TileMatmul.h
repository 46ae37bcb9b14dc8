// The matmul of two small tiles, kept in vector registers.
//
// C[m,n] += A[m,k] B[k,n] for tiles that fit the caches: the core of attention,
// and the inner loop of the f64 matmul. A block of C, some rows by some
// vectors, stays in registers over the whole of k; each step loads the vectors
// of B and broadcasts an element of A a row. A may have any strides and needs
// no transposed copy; rows of B and C are contiguous.

#ifndef RECIPERUN_DEVICE_CPU_TILEMATMUL_H
#define RECIPERUN_DEVICE_CPU_TILEMATMUL_H

#include <cassert>
#include <cstdint>

namespace reciperun::device {

/// Element (i, j) of a matrix at data[i * row + j * column].
template <class T> struct Strided {
  const T* data;
  int64_t row;
  int64_t column;
};

/// The number of elements that a tile's width is a multiple of: 64 bytes, one
/// to four vectors.
template <class T> inline constexpr int64_t lanes = 64 / int64_t(sizeof(T));

namespace tile {

// The size of a register, and the block that fits the registers: 24 of the 32
// of AVX-512, 12 of 16 otherwise. A larger vector than a register would be kept
// in memory.
#if defined(__AVX512F__)
inline constexpr int vectorBytes = 64, rows = 6, vectors = 4;
#elif defined(__AVX__)
inline constexpr int vectorBytes = 32, rows = 6, vectors = 2;
#else
inline constexpr int vectorBytes = 16, rows = 3, vectors = 4;
#endif

template <class T> struct VectorOf;
template <> struct VectorOf<float> {
  using Type
      [[gnu::vector_size(vectorBytes), gnu::aligned(4), gnu::may_alias]] =
          float;
};
template <> struct VectorOf<double> {
  using Type
      [[gnu::vector_size(vectorBytes), gnu::aligned(8), gnu::may_alias]] =
          double;
};
template <class T> using Vector = typename VectorOf<T>::Type;

/// The elements of a vector.
template <class T>
inline constexpr int64_t vectorLength = vectorBytes / int64_t(sizeof(T));

template <class T, int height, int width>
[[gnu::always_inline]] inline void block(int64_t k, Strided<T> a, const T* b,
                                         int64_t rowB, T* c, int64_t rowC) {
  Vector<T> sum[height][width];
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      sum[i][j] = *reinterpret_cast<const Vector<T>*>(c + i * rowC +
                                                      j * vectorLength<T>);
  for (int64_t p = 0; p < k; ++p) {
    Vector<T> right[width];
    for (int j = 0; j < width; ++j)
      right[j] = *reinterpret_cast<const Vector<T>*>(b + p * rowB +
                                                     j * vectorLength<T>);
    for (int i = 0; i < height; ++i) {
      const T left = a.data[i * a.row + p * a.column];
      for (int j = 0; j < width; ++j)
        sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      *reinterpret_cast<Vector<T>*>(c + i * rowC + j * vectorLength<T>) =
          sum[i][j];
}

/// All rows of C, `width` vectors wide.
template <class T, int width>
void column(int64_t m, int64_t k, Strided<T> a, const T* b, int64_t rowB, T* c,
            int64_t rowC) {
  int64_t i = 0;
  for (; i + rows <= m; i += rows, a.data += rows * a.row, c += rows * rowC)
    block<T, rows, width>(k, a, b, rowB, c, rowC);
  static_assert(rows <= 6, "the rest has a case for each number of rows");
  switch (m - i) {
  case 5:
    return block<T, 5, width>(k, a, b, rowB, c, rowC);
  case 4:
    return block<T, 4, width>(k, a, b, rowB, c, rowC);
  case 3:
    return block<T, 3, width>(k, a, b, rowB, c, rowC);
  case 2:
    return block<T, 2, width>(k, a, b, rowB, c, rowC);
  case 1:
    return block<T, 1, width>(k, a, b, rowB, c, rowC);
  }
}

} // namespace tile

/// C += A B with A [m,k], B [k,n] of row stride `rowB` and C [m,n] of row
/// stride `rowC`. `n` is a multiple of lanes<T>: callers pad their tiles.
template <class T>
void tileMatmul(int64_t m, int64_t n, int64_t k, Strided<T> a, const T* b,
                int64_t rowB, T* c, int64_t rowC) {
  assert(n % lanes<T> == 0 && "a tile's width is whole vectors");
  int64_t j = 0;
  constexpr int64_t length = tile::vectorLength<T>;
  constexpr int64_t step = tile::vectors * length;
  for (; j + step <= n; j += step)
    tile::column<T, tile::vectors>(m, k, a, b + j, rowB, c + j, rowC);
  switch ((n - j) / length) {
  case 3:
    return tile::column<T, 3>(m, k, a, b + j, rowB, c + j, rowC);
  case 2:
    return tile::column<T, 2>(m, k, a, b + j, rowB, c + j, rowC);
  case 1:
    return tile::column<T, 1>(m, k, a, b + j, rowB, c + j, rowC);
  }
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_TILEMATMUL_H
