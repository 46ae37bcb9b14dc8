// A matrix in 8 bits, as it lies and transposed, and its scales, on a GPU.
//
// 1. Of a scale for the whole matrix: find the largest element, in one maximum
//    for each block; the next kernel takes the maximum of those. A history that
//    tells it saves this pass over x.
// 2. A block has a tile of 128 by 128 elements, a thread 8 rows of 8 of them in
//    registers. Find the scales of the tile, where it has its own: of a row
//    across the 16 lanes that hold it, of a column across the block; of 32
//    elements of a row across 4 lanes, of a column across 2 warps. Those are
//    put into their order in shared memory.
// 3. Round. q is written from registers, 8 bytes a thread and row. For qt a
//    thread transposes its 8 by 8 bytes, and the block goes through shared
//    memory, whose 8-byte chunks are permuted so that neither side has
//    conflicts of banks; a column's 128 bytes then leave as 8 accesses of 16.
// 4. With a history: the maxima of the tiles become its first number.
// A maximum does not depend on its order, so that no result depends on timing.

#include "runtime/device/Float8.h"
#include "runtime/kernels/BlockSums.cuh"
#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/Quantize.h"
#include "runtime/kernels/Scratch.cuh"

#include <cuda_fp8.h>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::f8e8m0;
using plan::DType;

constexpr int side = int(blockWidth); // of a tile
constexpr int piece = 8;              // a thread's rows, and columns
constexpr int groups = side / piece;  // of rows, and of columns
constexpr int tileThreads = groups * groups;
constexpr int mostThreads = 512; // of which each loads so many vectors:
constexpr int loadsAtOnce = 4;

struct E4m3 {
  static constexpr __nv_fp8_interpretation_t kind = __NV_E4M3;
  static constexpr float largest = 448;
  static constexpr int exponent = device::f8e4m3::largestExponent;
};
struct E5m2 {
  static constexpr __nv_fp8_interpretation_t kind = __NV_E5M2;
  static constexpr float largest = 57344;
  static constexpr int exponent = device::f8e5m2::largestExponent;
};

/// Whether the two layouts have other blocks, and so other numbers.
constexpr bool differInLayouts(Blocks blocks) {
  return blocks == Blocks::rows || blocks == Blocks::mx;
}

template <class T> struct Matrix {
  const T* x;
  uint8_t *q, *qt;
  float *scale, *qtScale;
  uint8_t *mxScale, *mxQtScale; // in their place, for `mx`
  int64_t rows, columns;
  int64_t stride, qtStride; // of rows of scales
  // Of a scale for all of it: maxima that tell it, and where those of tiles go.
  const float *history, *maxima;
  int historyLength, maximaCount;
  float* tileMaxima;

  __device__ int64_t tilesDown() const { return (rows + side - 1) / side; }
  __device__ int64_t tilesAcross() const { return (columns + side - 1) / side; }
};

template <class F> __device__ float scaleOf(float most) {
  const float scale = __fdiv_rn(most, F::largest);
  return scale < leastScale ? 1.0f : scale;
}

/// Of all threads of a block of up to 1024; `room` is not used again by a call
/// that follows before all threads have met.
__device__ float mostOfBlock(float value, float* room) {
  value = acrossLanes(value, 32, Larger());
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  if (lane == 0)
    room[warp] = value;
  __syncthreads();
  return acrossLanes(lane < int(blockDim.x) / 32 ? room[lane] : 0.0f, 32,
                     Larger());
}

__device__ float mostOf(const float* values, int count, float* room) {
  float most = 0;
  for (int i = int(threadIdx.x); i < count; i += int(blockDim.x))
    most = fmaxf(most, values[i]);
  return mostOfBlock(most, room);
}

// ---- the largest element

/// From the end to the beginning: who made x has left its end in the cache, and
/// who reads it next begins where this ends. fmaxf gives the number where the
/// other is none.
template <class T>
__global__ void __launch_bounds__(mostThreads)
    findMost(const T* x, int64_t count, bool isWhole, const float* history,
             int historyLength, float* maxima) {
  __shared__ float room[2][32];
  if (history && mostOf(history, historyLength, room[0]) > 0)
    return; // who reads the maxima knows better
  constexpr int n = vectorLength<T>;
  const int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x,
                step = int64_t(gridDim.x) * blockDim.x;
  float most = 0;
  int64_t done = 0;
  if (isWhole) {
    done = count / n * n;
    const int64_t last = count / n - 1;
    // Several accesses of a thread are on their way at a time.
    for (int64_t i = first; i <= last; i += loadsAtOnce * step) {
      Vector<T, n> values[loadsAtOnce];
#pragma unroll
      for (int k = 0; k < loadsAtOnce; ++k)
        values[k] =
            Vector<T, n>::load(x + max(last - i - k * step, int64_t(0)) * n);
#pragma unroll
      for (int k = 0; k < loadsAtOnce; ++k)
#pragma unroll
        for (int j = 0; j < n; ++j)
          most = fmaxf(most, fabsf(values[k][j]));
    }
  }
  for (int64_t i = done + first; i < count; i += step)
    most = fmaxf(most, fabsf(float(x[i])));
  most = mostOfBlock(most, room[1]);
  if (threadIdx.x == 0)
    maxima[blockIdx.x] = most;
}

__global__ void moveHistory(float* history, int length, const float* maxima,
                            int count) {
  __shared__ float room[32];
  const float most = mostOf(maxima, count, room);
  if (threadIdx.x != 0)
    return;
  for (int i = length - 1; i > 0; --i)
    history[i] = history[i - 1];
  history[0] = most;
}

// ---- tiles

/// Tiles that a multiprocessor's registers hold at once.
template <class T, Blocks blocks>
constexpr int residentTiles = sizeof(T) == 2 && !differInLayouts(blocks) ? 3
                                                                         : 2;

struct TilePlace {
  int64_t row, column; // among the tiles
};

/// A thread's part of a tile: 8 rows of 8 elements.
template <class T> struct Piece {
  Vector<T, piece> rows[piece];

  /// `isWhole`: accesses may be of whole vectors.
  template <bool isWhole>
  __device__ void load(const Matrix<T>& m, int64_t row, int64_t column) {
#pragma unroll
    for (int i = 0; i < piece; ++i) {
      rows[i] = {};
      if constexpr (isWhole) {
        if (row + i < m.rows && column < m.columns)
          load(rows[i], m.x + (row + i) * m.columns + column);
      } else if (row + i < m.rows) {
        for (int j = 0; j < piece && column + j < m.columns; ++j)
          rows[i].elements[j] = m.x[(row + i) * m.columns + column + j];
      }
    }
  }

  /// In accesses of 16 bytes.
  __device__ static void load(Vector<T, piece>& to, const T* from) {
    constexpr int n = vectorLength<T>;
#pragma unroll
    for (int i = 0; i < piece; i += n)
      *reinterpret_cast<Vector<T, n>*>(to.elements + i) =
          Vector<T, n>::load(from + i);
  }

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

/// 8 rows of 8 bytes: columns 0 to 3 of a row in x, the others in y.
using Bytes = uint2[piece];

template <class F>
__device__ uint32_t fourBytes(float a, float b, float c, float d) {
  const uint32_t low =
      __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, F::kind);
  const uint32_t high =
      __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, F::kind);
  return low | high << 16;
}

/// Element (i, j) times across[i] or down[j], whichever is given.
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

/// Four words of four bytes become their transpose.
__device__ void turnFour(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  const uint32_t low0 = __byte_perm(a, b, 0x5140),
                 low1 = __byte_perm(c, d, 0x5140),
                 high0 = __byte_perm(a, b, 0x7362),
                 high1 = __byte_perm(c, d, 0x7362);
  a = __byte_perm(low0, low1, 0x5410);
  b = __byte_perm(low0, low1, 0x7632);
  c = __byte_perm(high0, high1, 0x5410);
  d = __byte_perm(high0, high1, 0x7632);
}

__device__ void turn(Bytes& bytes) {
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

template <bool isWhole, class T>
__device__ void writeRows(const Matrix<T>& m, const Bytes& bytes, int64_t row,
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

/// The columns of a tile, of which each thread holds 8 by 8 bytes, transposed.
/// Chunk number i of a column of group g of columns lies at place i xor g.
template <bool isWhole, class T>
__device__ void writeColumns(const Matrix<T>& m, const Bytes& turned,
                             uint2* room, int64_t row, int64_t column) {
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

/// Scales of one kind for all of a piece.
__device__ void fill(float (&factors)[piece], float scale) {
  const float factor = __frcp_rn(scale);
#pragma unroll
  for (float& each : factors)
    each = factor;
}

/// The scale of the whole matrix, which one thread of all writes down.
template <class F, class T>
__device__ float scaleOfAll(const Matrix<T>& m, float (*room)[32]) {
  float most = 0;
  if (m.history)
    most = mostOf(m.history, m.historyLength, room[0]);
  if (!(most > 0))
    most = mostOf(m.maxima, m.maximaCount, room[1]);
  const float scale = scaleOf<F>(most);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *m.scale = scale;
  return scale;
}

/// The scales of a tile's rows of q and of its columns, which are rows of qt.
template <class F, class T>
__device__ void scalesOfRuns(const Matrix<T>& m, const Piece<T>& elements,
                             int64_t row, int64_t column,
                             float (*ofWarps)[side], float (&ofRows)[piece],
                             float (&ofColumns)[piece]) {
  const int down = int(threadIdx.x) / groups, right = int(threadIdx.x) % groups;
  const int warp = int(threadIdx.x) / 32;
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
#pragma unroll
  for (int j = 0; j < piece; ++j) {
    float most = elements.mostOfColumn(j);
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, groups));
    if (down % 2 == 0)
      ofWarps[warp][right * piece + j] = most;
  }
  __syncthreads();
  if (const int j = int(threadIdx.x); j < side) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < tileThreads / 32; ++i)
      most = fmaxf(most, ofWarps[i][j]);
    const float scale = scaleOf<F>(most);
    ofWarps[0][j] = __frcp_rn(scale); // read by this thread alone so far
    if (column + j < m.columns)
      m.qtScale[row / side * m.qtStride + column + j] = scale;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < piece; ++j)
    ofColumns[j] = ofWarps[0][right * piece + j];
}

/// The scales of a tile's runs of 32 elements, each layout's in a tile of
/// scales.
template <class F, class T>
__device__ void scalesOfMx(const Matrix<T>& m, const Piece<T>& elements,
                           TilePlace tile, float (*ofWarps)[side],
                           uint8_t (*tiles)[plan::mxTileBytes],
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
        tiles[0][plan::mxPlaceInTile(down * piece + i, right / across)];
    ofRows[i] = factorOf(most, place, right % across == 0);
  }
#pragma unroll
  for (int j = 0; j < piece; ++j) {
    float most = elements.mostOfColumn(j);
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, groups));
    if (down % 2 == 0)
      ofWarps[warp][right * piece + j] = most;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < piece; ++j) {
    const int column = right * piece + j;
    const float most = fmaxf(ofWarps[warp][column], ofWarps[warp ^ 1][column]);
    uint8_t& place = tiles[1][plan::mxPlaceInTile(column, down / across)];
    ofColumns[j] = factorOf(most, place, down % across == 0);
  }
  __syncthreads();
  const int64_t place = tile.row * m.tilesAcross() + tile.column,
                placeTurned = tile.column * m.tilesDown() + tile.row;
  for (int i = int(threadIdx.x); i < plan::mxTileBytes; i += tileThreads) {
    if (m.q)
      m.mxScale[place * plan::mxTileBytes + i] = tiles[0][i];
    if (m.qt)
      m.mxQtScale[placeTurned * plan::mxTileBytes + i] = tiles[1][i];
  }
}

/// The scale of a square, and zeros behind the last one of a row of scales.
__device__ void placeScale(float* scales, int64_t stride, int64_t i, int64_t j,
                           bool isLast, float scale) {
  if (!scales)
    return;
  scales[i * stride + j] = scale;
  for (int64_t k = j + 1; isLast && k < stride; ++k)
    scales[i * stride + k] = 0;
}

/// Tiles that are made at a time are of several rows of tiles, so that longer
/// runs of both layouts go to memory together.
template <class T> __device__ TilePlace placeOfTile(const Matrix<T>& m) {
  constexpr int64_t together = 8;
  const int64_t inBands = together * m.tilesAcross();
  const int64_t first = blockIdx.x / inBands * together; // of the band's rows
  const int64_t height = min(together, m.tilesDown() - first);
  const int64_t inBand = blockIdx.x % inBands;
  return {first + inBand % height, inBand / height};
}

template <class T, class F, Blocks blocks, bool isWhole>
__global__ void __launch_bounds__(tileThreads, residentTiles<T, blocks>)
    quantizeTiles(Matrix<T> m) {
  __shared__ uint2 room[side * groups];
  __shared__ float maxima[3][32];
  __shared__ float ofWarps[tileThreads / 32][side];
  __shared__ uint8_t scaleTiles[2][plan::mxTileBytes];
  const TilePlace tile = placeOfTile(m);
  const int64_t row = tile.row * side, column = tile.column * side;
  const int64_t ownRow = row + int(threadIdx.x) / groups * piece,
                ownColumn = column + int(threadIdx.x) % groups * piece;
  Piece<T> elements;
  elements.template load<isWhole>(m, ownRow, ownColumn);
  float ofRows[piece], ofColumns[piece];
  if constexpr (blocks == Blocks::tensor)
    fill(ofRows, scaleOfAll<F>(m, maxima));
  if constexpr (blocks == Blocks::rows)
    scalesOfRuns<F>(m, elements, row, column, ofWarps, ofRows, ofColumns);
  if constexpr (blocks == Blocks::mx)
    scalesOfMx<F>(m, elements, tile, ofWarps, scaleTiles, ofRows, ofColumns);
  if (blocks == Blocks::squares || m.tileMaxima) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < piece; ++i)
      most = fmaxf(most, elements.mostOfRow(i));
    most = mostOfBlock(most, maxima[2]);
    if (m.tileMaxima && threadIdx.x == 0)
      m.tileMaxima[blockIdx.x] = most;
    if constexpr (blocks == Blocks::squares) {
      const float scale = scaleOf<F>(most);
      fill(ofRows, scale);
      if (threadIdx.x == 0) {
        placeScale(m.scale, m.stride, tile.row, tile.column,
                   column + side >= m.columns, scale);
        placeScale(m.qtScale, m.qtStride, tile.column, tile.row,
                   row + side >= m.rows, scale);
      }
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
  writeColumns<isWhole>(m, bytes, room, row, column);
}

// ---- launches

template <class T> Matrix<T> matrixOf(const QuantizeOperands& operands) {
  Matrix<T> m = {};
  m.x = operands.x.as<T>();
  m.q = operands.q.as<uint8_t>();
  m.qt = operands.qt.as<uint8_t>();
  if (operands.blocks == Blocks::mx) {
    m.mxScale = operands.scale.as<uint8_t>();
    m.mxQtScale = operands.qtScale.as<uint8_t>();
  } else {
    m.scale = operands.scale.as<float>();
    m.qtScale = operands.qtScale.as<float>();
  }
  m.rows = operands.rows;
  m.columns = operands.columns;
  if (operands.scale.present())
    m.stride = operands.scale.shape.back();
  if (operands.qtScale.present())
    m.qtStride = operands.qtScale.shape.back();
  return m;
}

template <class T> bool isWhole(const Matrix<T>& m) {
  return m.columns % piece == 0 && (!m.qt || m.rows % 16 == 0) &&
         areAligned(16, m.x, m.q, m.qt);
}

template <class T, class F, Blocks blocks>
void launchTiles(const Matrix<T>& m, int64_t tiles, cudaStream_t stream) {
  auto* const kernel = isWhole(m) ? &quantizeTiles<T, F, blocks, true>
                                  : &quantizeTiles<T, F, blocks, false>;
  kernel<<<unsigned(tiles), tileThreads, 0, stream>>>(m);
}

template <class T, class F>
Status launch(const CudaKernelArgs& args, const QuantizeOperands& operands) {
  const cudaStream_t stream = args.context.stream();
  Matrix<T> m = matrixOf<T>(operands);
  const int64_t tiles = ceilDivide(m.rows, side) * ceilDivide(m.columns, side);
  Scratch scratch(args.context);
  if (operands.blocks == Blocks::tensor) {
    m.history = operands.history.as<float>();
    m.historyLength =
        operands.history.present() ? int(operands.history.elements()) : 0;
    m.maximaCount =
        int(std::min<int64_t>(2 * args.context.multiprocessors(),
                              ceilDivide(m.rows * m.columns, mostThreads)));
    float* const maxima = scratch.take<float>(m.maximaCount);
    m.maxima = maxima;
    if (m.history)
      m.tileMaxima = scratch.take<float>(tiles);
    if (scratch.leftBytes() < 0)
      return Status::error("`quantize` has more tiles than its scratch holds");
    findMost<T><<<unsigned(m.maximaCount), mostThreads, 0, stream>>>(
        m.x, m.rows * m.columns, areAligned(16, m.x), m.history,
        m.historyLength, maxima);
  }
  switch (operands.blocks) {
  case Blocks::tensor:
    launchTiles<T, F, Blocks::tensor>(m, tiles, stream);
    break;
  case Blocks::rows:
    launchTiles<T, F, Blocks::rows>(m, tiles, stream);
    break;
  case Blocks::squares:
    launchTiles<T, F, Blocks::squares>(m, tiles, stream);
    break;
  case Blocks::mx:
    launchTiles<T, F, Blocks::mx>(m, tiles, stream);
    break;
  }
  if (m.history)
    moveHistory<<<1, 1024, 0, stream>>>(operands.history.as<float>(),
                                        m.historyLength, m.tileMaxima,
                                        int(tiles));
  return device::launchStatus();
}

} // namespace

template <>
Status cudaKernel<plan::OpKind::Quantize>(const CudaKernelArgs& args) {
  const auto operands = QuantizeOperands::of(args);
  if (operands.rows == 0 || operands.columns == 0)
    return Status::ok();
  return withDeviceType(args, operands.x.type, [&]<class T>(DeviceType<T>) {
    return operands.type() == DType::f8e4m3 ? launch<T, E4m3>(args, operands)
                                            : launch<T, E5m2>(args, operands);
  });
}

} // namespace reciperun::kernels
