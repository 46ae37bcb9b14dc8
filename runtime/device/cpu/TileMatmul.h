// The matmul of two small tiles, kept in vector registers.
//
// C[m,n] += A[m,k] B[k,n] for tiles that fit the caches: the core of attention,
// and the inner loop of the f64 matmul. Blocks of 6 rows by 4 vectors of C stay
// in registers over the whole of k (24 of the 32 registers of AVX-512); each
// step loads 4 vectors of B and broadcasts 6 elements of A. A may have any
// strides and needs no transposed copy; rows of B and C are contiguous.

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

/// The number of elements of a 64-byte vector.
template <class T> inline constexpr int64_t lanes = 64 / int64_t(sizeof(T));

namespace tile {

inline constexpr int rows = 6;
inline constexpr int vectors = 4;

template <class T> struct VectorOf;
template <> struct VectorOf<float> {
  using Type [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
};
template <> struct VectorOf<double> {
  using Type [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;
};
template <class T> using Vector = typename VectorOf<T>::Type;

template <class T, int height, int width>
[[gnu::always_inline]] inline void block(int64_t k, Strided<T> a, const T* b,
                                         int64_t rowB, T* c, int64_t rowC) {
  Vector<T> sum[height][width];
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      sum[i][j] =
          *reinterpret_cast<const Vector<T>*>(c + i * rowC + j * lanes<T>);
  for (int64_t p = 0; p < k; ++p) {
    Vector<T> right[width];
    for (int j = 0; j < width; ++j)
      right[j] =
          *reinterpret_cast<const Vector<T>*>(b + p * rowB + j * lanes<T>);
    for (int i = 0; i < height; ++i) {
      const T left = a.data[i * a.row + p * a.column];
      for (int j = 0; j < width; ++j)
        sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      *reinterpret_cast<Vector<T>*>(c + i * rowC + j * lanes<T>) = sum[i][j];
}

/// All rows of C, `width` vectors wide.
template <class T, int width>
void column(int64_t m, int64_t k, Strided<T> a, const T* b, int64_t rowB, T* c,
            int64_t rowC) {
  int64_t i = 0;
  for (; i + rows <= m; i += rows, a.data += rows * a.row, c += rows * rowC)
    block<T, rows, width>(k, a, b, rowB, c, rowC);
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
  constexpr int64_t step = tile::vectors * lanes<T>;
  for (; j + step <= n; j += step)
    tile::column<T, tile::vectors>(m, k, a, b + j, rowB, c + j, rowC);
  switch ((n - j) / lanes<T>) {
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
