// Quantizes matrices and their transposes to fp8, with scales, on a GPU. The
// source is in memory or computed by a function, element by element. One launch
// may quantize several matrices from the same source. QuantizeLine.cuh handles
// matrices with one scale and no transpose.
//
//   1. One scale for the whole matrix: find the largest element, one maximum
//      per block; the next kernel reduces these. An amax history saves this
//      pass. Values from a function are computed twice rather than stored.
//   2. A block has a tile of 128 by 128 elements; a thread has 8 rows of 8
//      elements in registers. If the tile has its own scales, find them: for a
//      row across the 16 lanes that hold it, for a column across the block; for
//      32 elements of a row across 4 lanes, of a column across 2 warps. The
//      scales of 32 elements are put into their layout in shared memory.
//   3. Round. q is written from registers, 8 bytes per thread and row. For qt a
//      thread transposes its 8 by 8 bytes, and the block exchanges them through
//      shared memory, whose 8-byte chunks are swizzled so that neither side has
//      bank conflicts. A column's 128 bytes are written as 8 accesses of 16.
//   4. With an amax history: the maximum of the tiles becomes its first entry.
// A maximum does not depend on the order, so no result depends on timing.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZETILES_CUH
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZETILES_CUH

#include "runtime/kernels/quantize/QuantizeSource.cuh"

namespace reciperun::kernels::narrow {

using device::f8e8m0;

inline constexpr int piece = 8;             // a thread's rows, and columns
inline constexpr int groups = side / piece; // of rows, and of columns
inline constexpr int tileThreads = groups * groups;

// ---- tiles

/// Tiles that fit into the registers of a multiprocessor.
template <class S, Blocks blocks>
inline constexpr int
    residentTiles = sizeof(typename S::Element) == 2 && S::outputs == 1 &&
                            (blocks == Blocks::tensor ||
                             (S::inputs == 1 && !differInLayouts(blocks)))
                        ? 3
                        : 2;

struct TilePlace {
  int64_t row, column; // among the tiles
};

/// A thread's part of a tile: 8 rows of 8 elements.
template <class T> struct Piece {
  Vector<T, piece> rows[piece];

  __device__ float mostOfRow(int i) const {
    float most = 0;
#pragma unroll
    for (int j = 0; j < piece; ++j)
      most = fmaxf(most, fabsf(rows[i][j]));
    return most;
  }
  __device__ float mostOfColumn(int j) const {
    float most = 0;
#pragma unroll
    for (int i = 0; i < piece; ++i)
      most = fmaxf(most, fabsf(rows[i][j]));
    return most;
  }
};

/// Loads a piece of one of a source's matrices, with zeros outside the matrix.
/// `isWhole` allows accesses of 16 bytes.
template <int output, bool isWhole, class S>
__device__ void loadPiece(const S& source, int64_t rows, int64_t columns,
                          int64_t row, int64_t column,
                          Piece<typename S::Element>& to) {
  using T = typename S::Element;
  constexpr int n = isWhole ? vectorLength<T> : 1;
  // The number of rows in flight that fit into registers.
  constexpr int together = piece >> (S::inputs - 1);
#pragma unroll
  for (int i = 0; i < piece; i += together) {
    Vector<T, n> in[together][piece / n][S::inputs] = {};
#pragma unroll
    for (int k = 0; k < together; ++k)
#pragma unroll
      for (int j = 0; j < piece / n; ++j)
        if (row + i + k < rows && column + j * n < columns)
          source.template load<n>((row + i + k) * columns + column + j * n,
                                  in[k][j]);
#pragma unroll
    for (int k = 0; k < together; ++k)
#pragma unroll
      for (int j = 0; j < piece / n; ++j) {
        Vector<T, n> made[S::outputs]; // only one of them is used
        source.template make<n>(in[k][j], made);
        *reinterpret_cast<Vector<T, n>*>(to.rows[i + k].elements + j * n) =
            made[output];
      }
    if constexpr (together < piece)
      asm volatile("" ::: "memory"); // later rows are not loaded before
  }
}

/// 8 rows of 8 bytes. x holds columns 0 to 3 of a row, y the others.
using Bytes = uint2[piece];

/// Rounds element (i, j) times ofRows[i] or ofColumns[j], whichever is given.
template <class F, class T>
__device__ void round(const Piece<T>& from, const float* ofRows,
                      const float* ofColumns, Bytes& to) {
#pragma unroll
  for (int i = 0; i < piece; ++i) {
    float values[piece];
#pragma unroll
    for (int j = 0; j < piece; ++j)
      values[j] = from.rows[i][j] * (ofRows ? ofRows[i] : ofColumns[j]);
    to[i].x = fourBytes<F>(values[0], values[1], values[2], values[3]);
    to[i].y = fourBytes<F>(values[4], values[5], values[6], values[7]);
  }
}

/// Transposes four words of four bytes.
__device__ inline void turnFour(uint32_t& a, uint32_t& b, uint32_t& c,
                                uint32_t& d) {
  const uint32_t low0 = __byte_perm(a, b, 0x5140),
                 low1 = __byte_perm(c, d, 0x5140),
                 high0 = __byte_perm(a, b, 0x7362),
                 high1 = __byte_perm(c, d, 0x7362);
  a = __byte_perm(low0, low1, 0x5410);
  b = __byte_perm(low0, low1, 0x7632);
  c = __byte_perm(high0, high1, 0x5410);
  d = __byte_perm(high0, high1, 0x7632);
}

__device__ inline void turn(Bytes& bytes) {
  for (int i = 0; i < piece; i += 4) {
    turnFour(bytes[i].x, bytes[i + 1].x, bytes[i + 2].x, bytes[i + 3].x);
    turnFour(bytes[i].y, bytes[i + 1].y, bytes[i + 2].y, bytes[i + 3].y);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t upper = bytes[i].y;
    bytes[i].y = bytes[i + 4].x;
    bytes[i + 4].x = upper;
  }
}

template <bool isWhole>
__device__ void writeRows(const Matrix& m, const Bytes& bytes, int64_t row,
                          int64_t column) {
#pragma unroll
  for (int i = 0; i < piece; ++i) {
    if (row + i >= m.rows || column >= m.columns)
      continue;
    uint8_t* const to = m.q + (row + i) * m.columns + column;
    if constexpr (isWhole) {
      *reinterpret_cast<uint2*>(to) = bytes[i];
    } else {
      for (int j = 0; j < piece && column + j < m.columns; ++j)
        to[j] = uint8_t((j < 4 ? bytes[i].x : bytes[i].y) >> 8 * (j % 4));
    }
  }
}

/// Writes the columns of a tile from the transposed 8 by 8 bytes of each
/// thread. Chunk i of a column in column group g is at position i xor g.
template <bool isWhole>
__device__ void writeColumns(const Matrix& m, const Bytes& turned, uint2* room,
                             int64_t row, int64_t column) {
  const int down = int(threadIdx.x) / groups, right = int(threadIdx.x) % groups;
#pragma unroll
  for (int j = 0; j < piece; ++j)
    room[(right * piece + j) * groups + (down ^ right)] = turned[j];
  __syncthreads();
  constexpr int pairs = groups / 2; // of chunks, in a column
#pragma unroll
  for (int i = 0; i < side * pairs / tileThreads; ++i) {
    const int unit = int(threadIdx.x) + i * tileThreads;
    const int j = unit / pairs, pair = unit % pairs, group = j / piece;
    uint4 bytes =
        reinterpret_cast<const uint4*>(room)[j * pairs + (pair ^ group / 2)];
    if (group % 2 == 1)
      bytes = make_uint4(bytes.z, bytes.w, bytes.x, bytes.y);
    const int64_t first = row + pair * 16;
    if (column + j >= m.columns || first >= m.rows)
      continue;
    uint8_t* const to = m.qt + (column + j) * m.rows + first;
    if constexpr (isWhole) {
      *reinterpret_cast<uint4*>(to) = bytes;
    } else {
      const uint32_t words[] = {bytes.x, bytes.y, bytes.z, bytes.w};
      for (int k = 0; k < 16 && first + k < m.rows; ++k)
        to[k] = uint8_t(words[k / 4] >> 8 * (k % 4));
    }
  }
}

/// Fills a piece with one scale.
__device__ inline void fill(float (&factors)[piece], float scale) {
  const float factor = __frcp_rn(scale);
#pragma unroll
  for (float& each : factors)
    each = factor;
}

/// Stores the maximum over a warp's rows, for each column of a tile, in the
/// warp's row of `ofWarps`. All threads see the result on return.
template <class T>
__device__ void shareMostOfColumns(const Piece<T>& elements,
                                   float (*ofWarps)[side]) {
  const int down = int(threadIdx.x) / groups, right = int(threadIdx.x) % groups;
  const int warp = int(threadIdx.x) / 32;
#pragma unroll
  for (int j = 0; j < piece; ++j) {
    float most = elements.mostOfColumn(j);
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, groups));
    if (down % 2 == 0)
      ofWarps[warp][right * piece + j] = most;
  }
  __syncthreads();
}

/// The scales of a tile's rows in q, and of its columns, which are rows of qt.
template <class F, class T>
__device__ void scalesOfRuns(const Matrix& m, const Piece<T>& elements,
                             int64_t row, int64_t column,
                             float (*ofWarps)[side], float (&ofRows)[piece],
                             float (&ofColumns)[piece]) {
  const int down = int(threadIdx.x) / groups, right = int(threadIdx.x) % groups;
  if (m.q)
#pragma unroll
    for (int i = 0; i < piece; ++i) {
      const float most = acrossLanes(elements.mostOfRow(i), groups, Larger());
      const float scale = scaleOf<F>(most);
      ofRows[i] = __frcp_rn(scale);
      const int64_t place = row + down * piece + i;
      if (right == 0 && place < m.rows)
        m.scale[column / side * m.stride + place] = scale;
    }
  if (!m.qt)
    return;
  shareMostOfColumns(elements, ofWarps);
  if (const int j = int(threadIdx.x); j < side) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < tileThreads / 32; ++i)
      most = fmaxf(most, ofWarps[i][j]);
    const float scale = scaleOf<F>(most);
    ofWarps[0][j] = __frcp_rn(scale); // only this thread has read it so far
    if (column + j < m.columns)
      m.qtScale[row / side * m.qtStride + column + j] = scale;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < piece; ++j)
    ofColumns[j] = ofWarps[0][right * piece + j];
}

/// The scales of a tile's runs of 32 elements. Each layout has its own tile of
/// scales.
template <class F, class T>
__device__ void scalesOfMx(const Matrix& m, const Piece<T>& elements,
                           TilePlace tile, float (*ofWarps)[side],
                           uint8_t (*tiles)[sizes::mxTileBytes],
                           float (&ofRows)[piece], float (&ofColumns)[piece]) {
  constexpr int across = int(mxBlockWidth) / piece; // threads of a block
  static_assert(across == 4 && groups == 16, "a warp holds half of a block");
  const int down = int(threadIdx.x) / groups, right = int(threadIdx.x) % groups;
  const int warp = int(threadIdx.x) / 32;
  auto factorOf = [](float most, uint8_t& place, bool isFirst) {
    const f8e8m0 scale = f8e8m0::above(most, F::exponent);
    if (isFirst)
      place = scale.bits;
    return scale.inverse();
  };
#pragma unroll
  for (int i = 0; i < piece; ++i) {
    const float most = acrossLanes(elements.mostOfRow(i), across, Larger());
    uint8_t& place =
        tiles[0][sizes::mxPlaceInTile(down * piece + i, right / across)];
    ofRows[i] = factorOf(most, place, right % across == 0);
  }
  shareMostOfColumns(elements, ofWarps);
#pragma unroll
  for (int j = 0; j < piece; ++j) {
    const int column = right * piece + j;
    const float most = fmaxf(ofWarps[warp][column], ofWarps[warp ^ 1][column]);
    uint8_t& place = tiles[1][sizes::mxPlaceInTile(column, down / across)];
    ofColumns[j] = factorOf(most, place, down % across == 0);
  }
  __syncthreads();
  const int64_t place = tile.row * m.tilesAcross() + tile.column,
                placeTurned = tile.column * m.tilesDown() + tile.row;
  for (int i = int(threadIdx.x); i < sizes::mxTileBytes; i += tileThreads) {
    if (m.q)
      m.mxScale[place * sizes::mxTileBytes + i] = tiles[0][i];
    if (m.qt)
      m.mxQtScale[placeTurned * sizes::mxTileBytes + i] = tiles[1][i];
  }
}

/// Stores the scale of a square, and zeros after the last scale of a row.
__device__ inline void placeScale(float* scales, int64_t stride, int64_t i,
                                  int64_t j, bool isLast, float scale) {
  if (!scales)
    return;
  scales[i * stride + j] = scale;
  for (int64_t k = j + 1; isLast && k < stride; ++k)
    scales[i * stride + k] = 0;
}

/// The tiles in flight span several rows of tiles, so that both layouts write
/// longer contiguous runs to memory.
__device__ inline TilePlace placeOfTile(const Matrix& m, int number) {
  constexpr int64_t together = 8;
  const int64_t inBands = together * m.tilesAcross();
  const int64_t first = number / inBands * together; // of the band's rows
  const int64_t height = min(together, m.tilesDown() - first);
  const int64_t inBand = number % inBands;
  return {first + inBand % height, inBand / height};
}

/// The shared memory of a block for one tile.
struct TileRoom {
  uint2 turned[side * groups];
  float maxima[3][32];
  float ofWarps[tileThreads / 32][side];
  uint8_t scales[2][sizes::mxTileBytes];
};

/// Quantizes a tile of one matrix whose blocks have their own scales. All
/// threads call it.
template <class F, Blocks blocks, bool isWhole, int output, class S>
__device__ void makeTile(const S& source, const Matrix& m, int number,
                         TileRoom& room) {
  const TilePlace tile = placeOfTile(m, number);
  const int64_t row = tile.row * side, column = tile.column * side;
  const int64_t ownRow = row + int(threadIdx.x) / groups * piece,
                ownColumn = column + int(threadIdx.x) % groups * piece;
  Piece<typename S::Element> elements;
  loadPiece<output, isWhole>(source, m.rows, m.columns, ownRow, ownColumn,
                             elements);
  float ofRows[piece], ofColumns[piece];
  if constexpr (blocks == Blocks::rows)
    scalesOfRuns<F>(m, elements, row, column, room.ofWarps, ofRows, ofColumns);
  if constexpr (blocks == Blocks::mx)
    scalesOfMx<F>(m, elements, tile, room.ofWarps, room.scales, ofRows,
                  ofColumns);
  if constexpr (blocks == Blocks::squares) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < piece; ++i)
      most = fmaxf(most, elements.mostOfRow(i));
    const float scale = scaleOf<F>(mostOfBlock(most, room.maxima[2]));
    fill(ofRows, scale);
    if (threadIdx.x == 0) {
      placeScale(m.scale, m.stride, tile.row, tile.column,
                 column + side >= m.columns, scale);
      placeScale(m.qtScale, m.qtStride, tile.column, tile.row,
                 row + side >= m.rows, scale);
    }
  }
  Bytes bytes;
  if (!differInLayouts(blocks) || m.q)
    round<F>(elements, ofRows, nullptr, bytes);
  if (m.q)
    writeRows<isWhole>(m, bytes, ownRow, ownColumn);
  if (!m.qt)
    return;
  if (differInLayouts(blocks))
    round<F>(elements, nullptr, ofColumns, bytes);
  turn(bytes);
  writeColumns<isWhole>(m, bytes, room.turned, row, column);
}

/// Quantizes a tile of all matrices of a source, each of which has one scale.
/// Elements are rounded as soon as they are computed.
template <class F, bool isWhole, class S>
__device__ void makeTiles(const S& source, const Matrices<S::outputs>& matrices,
                          int number, TileRoom& room) {
  using T = typename S::Element;
  constexpr int n = isWhole ? vectorLength<T> : 1;
  // The number of rows in flight that fit into registers.
  constexpr int together = piece >> (S::inputs - 1);
  const Matrix& any = matrices.of[0];
  const TilePlace tile = placeOfTile(any, number);
  const int64_t row = tile.row * side, column = tile.column * side;
  const int64_t ownRow = row + int(threadIdx.x) / groups * piece,
                ownColumn = column + int(threadIdx.x) % groups * piece;
  Vector<T, n> in[together][piece / n][S::inputs];
  auto load = [&](int first) {
#pragma unroll
    for (int k = 0; k < together; ++k)
#pragma unroll
      for (int j = 0; j < piece / n; ++j) {
        // Elements outside the matrix repeat elements inside it, which changes
        // no maximum.
        const int64_t i = min(ownRow + first + k, any.rows - 1),
                      from = min(ownColumn + j * n, any.columns - n);
        source.template load<n>(i * any.columns + from, in[k][j]);
      }
  };
  load(0);
  float factors[S::outputs];
  Most<T> most[S::outputs];
  findFactors<F>(matrices, room.maxima, factors);
  Bytes bytes[S::outputs];
#pragma unroll
  for (int i = 0; i < piece; i += together) {
    if (i > 0)
      load(i);
#pragma unroll
    for (int k = 0; k < together; ++k) {
      float values[S::outputs][piece];
#pragma unroll
      for (int j = 0; j < piece / n; ++j) {
        Vector<T, n> made[S::outputs];
        source.template make<n>(in[k][j], made);
#pragma unroll
        for (int o = 0; o < S::outputs; ++o) {
          most[o].see(made[o]);
#pragma unroll
          for (int e = 0; e < n; ++e)
            values[o][j * n + e] = made[o][e] * factors[o];
        }
      }
#pragma unroll
      for (int o = 0; o < S::outputs; ++o) {
        const float(&of)[piece] = values[o];
        bytes[o][i + k].x = fourBytes<F>(of[0], of[1], of[2], of[3]);
        bytes[o][i + k].y = fourBytes<F>(of[4], of[5], of[6], of[7]);
      }
    }
    if constexpr (together < piece)
      asm volatile("" ::: "memory"); // later rows are not loaded before
  }
#pragma unroll
  for (int o = 0; o < S::outputs; ++o) {
    const Matrix& m = matrices.of[o];
    if (m.partMaxima) {
      __syncthreads();
      const float largest = mostOfBlock(most[o].value(), room.maxima[2]);
      if (threadIdx.x == 0)
        m.partMaxima[number] = largest;
    }
    if (m.q)
      writeRows<isWhole>(m, bytes[o], ownRow, ownColumn);
    if (!m.qt)
      continue;
    if (o > 0)
      __syncthreads();
    turn(bytes[o]);
    writeColumns<isWhole>(m, bytes[o], room.turned, row, column);
  }
}

/// If blocks have their own scales, consecutive thread blocks process the same
/// tile of the different matrices, so that they share their inputs in the
/// cache.
template <class S, class F, Blocks blocks, bool isWhole>
__global__ void __launch_bounds__(tileThreads, residentTiles<S, blocks>)
    quantizeTiles(const __grid_constant__ S source,
                  const __grid_constant__ Matrices<S::outputs> matrices) {
  __shared__ TileRoom room;
  static_assert(S::outputs <= 2);
  if constexpr (blocks == Blocks::tensor) {
    makeTiles<F, isWhole>(source, matrices, int(blockIdx.x), room);
  } else {
    constexpr int last = S::outputs - 1;
    const int number = int(blockIdx.x) / S::outputs;
    if (blockIdx.x % S::outputs == 0)
      makeTile<F, blocks, isWhole, 0>(source, matrices.of[0], number, room);
    else
      makeTile<F, blocks, isWhole, last>(source, matrices.of[last], number,
                                         room);
  }
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZETILES_CUH
