// Operand tiles of SkinnyMatmuls.cu.
//
// The thin operands of all parts are concatenated to one [tokens, n], n up to
// 128, in groups of 16 columns, with zeros after the last part. The matrices
// are stacked to n rows of the width of X, or are one matrix [wide, n].

#ifndef RECIPERUN_KERNELS_DENSE_SKINNYTILES_CUH
#define RECIPERUN_KERNELS_DENSE_SKINNYTILES_CUH

#include "runtime/kernels/common/MatrixFragments.cuh"

#include <climits>
#include <cstddef>
#include <cstdint>

namespace reciperun::kernels::thin {

using cuda::Bf16;
using cuda::chunkSize;
using cuda::Tile;

/// Tokens of a tile; elements of X per step of a block that keeps its tokens'
/// thin operands; columns of a group.
inline constexpr int side = 64, span = 128, group = 16;
inline constexpr int mostParts = 3;

/// The parts as kernel arguments. Absent parts start after all columns.
struct Parts {
  Bf16* thin[mostParts];
  const Bf16* matrix[mostParts];
  int width[mostParts];
  int first[mostParts] = {INT_MAX, INT_MAX, INT_MAX}; // column
  int columns = 0;                                    // of all parts

  __device__ int partOf(int column) const {
    return (column >= first[1]) + (column >= first[2]);
  }
  __device__ Bf16* thinAt(int64_t token, int column) const {
    const int part = partOf(column);
    return thin[part] + token * width[part] + (column - first[part]);
  }
  /// The start of row `column` of a matrix.
  __device__ const Bf16* rowAt(int column, int64_t wide) const {
    const int part = partOf(column);
    return matrix[part] + (column - first[part]) * wide;
  }
};

/// The arguments that all kernels have.
struct Shape {
  Parts parts;
  int64_t tokens, wide;
  float alpha;
};

/// The columns of a tile that holds `groups` groups of 16.
template <int groups>
inline constexpr int tileWidth = groups* group <= 64 ? 64 : 128;

/// Allocates tiles consecutively in the block's shared memory.
class Tiles {
public:
  __device__ Tiles() {
    extern __shared__ __align__(128) uint4 bytesOfTiles[];
    next = reinterpret_cast<Bf16*>(bytesOfTiles);
  }
  template <int width> __device__ Tile<width> take(int rows) {
    const Tile<width> tile{next};
    next += rows * width;
    return tile;
  }

private:
  Bf16* next;
};

template <int width> constexpr size_t tileBytes(int rows) {
  return size_t(rows) * width * sizeof(Bf16);
}

/// Copies rows of the thin operands, starting at a token.
template <int threads, int width>
__device__ void fillThin(Tile<width> tile, const Shape& shape, int64_t token,
                         int64_t end) {
  constexpr int chunks = width / chunkSize;
  for (int i = int(threadIdx.x); i < side * chunks; i += threads) {
    const int row = i / chunks, chunk = i % chunks, column = chunk * chunkSize;
    const bool isInside = token + row < end && column < shape.parts.columns;
    cuda::copyChunk(uint32_t(__cvta_generic_to_shared(tile.at(row, chunk))),
                    isInside ? shape.parts.thinAt(token + row, column)
                             : shape.parts.thin[0],
                    isInside);
  }
}

/// Copies `width` elements from `from` on, of the rows of all matrices.
template <int threads, int groups, int width>
__device__ void fillMatrices(Tile<width> tile, const Shape& shape,
                             int64_t from) {
  constexpr int chunks = width / chunkSize;
  for (int i = int(threadIdx.x); i < groups * group * chunks; i += threads) {
    const int row = i / chunks, chunk = i % chunks;
    const bool isInside = row < shape.parts.columns;
    cuda::copyChunk(uint32_t(__cvta_generic_to_shared(tile.at(row, chunk))),
                    isInside ? shape.parts.rowAt(row, shape.wide) + from +
                                   chunk * chunkSize
                             : shape.parts.matrix[0],
                    isInside);
  }
}

/// Copies `rows` rows from `from` on, of a matrix [wide, n].
template <int threads, int rows, int width>
__device__ void fillAcross(Tile<width> tile, const Shape& shape, int64_t from) {
  const int columns = shape.parts.columns;
  cuda::fill<rows, threads>(tile, {shape.parts.matrix[0] + from * columns,
                                   columns, rows, columns, true});
}

/// Copies `width` elements from `from` on, of the rows of X starting at a
/// token.
template <int threads, int width>
__device__ void fillWide(Tile<width> tile, const Shape& shape, const Bf16* x,
                         int64_t token, int64_t end, int64_t from) {
  const auto rows = int(min(int64_t(side), end - token));
  cuda::fill<side, threads>(
      tile, {x + token * shape.wide + from, shape.wide, rows, width, true});
}

/// sums [32, 8 eights] += 32 rows of `left` from `row` on times the columns of
/// `right` from `column` on, over 16 elements from `k` on. `right` is a tile
/// [columns, summed], or [summed, columns] if `isAcross`.
template <bool isAcross, int eights, int leftWidth, int rightWidth>
__device__ __forceinline__ void
multiplyRows(float (&sums)[2][eights][4], const cuda::Operands<leftWidth>& left,
             int row, const cuda::Operands<rightWidth>& right, int column,
             int k) {
  uint32_t a[2][4];
#pragma unroll
  for (int i = 0; i < 2; ++i)
    left.left(a[i], row + i * group, k);
#pragma unroll
  for (int j = 0; j < eights / 2; ++j) {
    uint32_t b[4];
    if constexpr (isAcross)
      right.rightAcross(b, column + j * group, k);
    else
      right.right(b, column + j * group, k);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      cuda::multiply(sums[i][2 * j], a[i], b[0], b[1]);
      cuda::multiply(sums[i][2 * j + 1], a[i], b[2], b[3]);
    }
  }
}

} // namespace reciperun::kernels::thin

#endif // RECIPERUN_KERNELS_DENSE_SKINNYTILES_CUH
