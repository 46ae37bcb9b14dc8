// Warp-level matmul primitives: the instruction m16n8k16 on bf16 or fp16 with
// float accumulators, its operands in shared memory, and the copies that load
// them.
//
// In a fragment, lane l holds the elements of row l / 4 and columns 2 (l % 4)
// and 2 (l % 4) + 1 of each 8 x 8 matrix. The 16 x 8 accumulator has rows l / 4
// and l / 4 + 8. Tiles are row-major in shared memory. The 16-byte chunks of
// row r are swizzled by r % 8, so that eight rows of one column of chunks fall
// into different banks.

#ifndef RECIPERUN_KERNELS_COMMON_MATRIXFRAGMENTS_CUH
#define RECIPERUN_KERNELS_COMMON_MATRIXFRAGMENTS_CUH

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace reciperun::kernels::cuda {

using Bf16 = __nv_bfloat16;

/// Elements of a 16-byte chunk.
inline constexpr int chunkSize = 8;

/// A tile in shared memory, aligned to 128 bytes, with rows of `width`
/// elements. `width` is a multiple of 64.
template <int width> struct Tile {
  static_assert(width % 64 == 0, "rows are whole groups of eight chunks");
  static constexpr int chunks = width / chunkSize;
  static constexpr int rowBytes = width * int(sizeof(Bf16));
  Bf16* data;

  __device__ Bf16* at(int row, int chunk) const {
    return data + row * width + ((chunk ^ (row & 7)) * chunkSize);
  }
};

/// A tile from which one lane reads operands. Row, column and summed indices
/// are multiples of 16 and constants after unrolling, so that an address is one
/// XOR away from the lane's base address.
template <int width> class Operands {
public:
  /// Loads the left operand, 16 rows by 16 summed elements, from a tile [rows,
  /// summed].
  __device__ void left(uint32_t (&to)[4], int row, int summed) const {
    load(to, at(narrow, row, summed));
  }
  /// Loads the left operand from a tile [summed, rows].
  __device__ void leftAcross(uint32_t (&to)[4], int row, int summed) const {
    loadTransposed(to, at(wide, summed, row));
  }
  /// Loads two right operands of 16 summed elements by 8 columns, in words 0, 1
  /// and 2, 3, from a tile [columns, summed].
  __device__ void right(uint32_t (&to)[4], int column, int summed) const {
    load(to, at(wide, column, summed));
  }
  /// Loads them from a tile [summed, columns].
  __device__ void rightAcross(uint32_t (&to)[4], int column, int summed) const {
    loadTransposed(to, at(narrow, summed, column));
  }

  __device__ Operands(Tile<width> tile, int lane) {
    const auto base = uint32_t(__cvta_generic_to_shared(tile.data));
    narrow = base + uint32_t(lane % 16 * Tile<width>::rowBytes +
                             ((lane / 16) ^ (lane % 8)) * 16);
    wide = base + uint32_t((lane % 8 + lane / 16 * 8) * Tile<width>::rowBytes +
                           ((lane / 8 % 2) ^ (lane % 8)) * 16);
  }

private:
  // An instruction loads four 8 x 8 matrices; lane l supplies the address of
  // row l % 8 of matrix l / 8. In `narrow` the second matrix is below the
  // first, in `wide` to its right.
  uint32_t narrow, wide;

  __device__ static uint32_t at(uint32_t lane, int row, int column) {
    const int chunk = column / chunkSize;
    return (lane ^ uint32_t(chunk % 8 * 16)) +
           uint32_t(row * Tile<width>::rowBytes + chunk / 8 * 128);
  }
  __device__ static void load(uint32_t (&to)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
  }
  __device__ static void loadTransposed(uint32_t (&to)[4], uint32_t address) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "r"(address));
  }
};

/// sum [16, 8] += left [16, 16] times right [16, 8], in bf16 or fp16.
template <class T = Bf16>
__device__ inline void multiply(float (&sum)[4], const uint32_t (&left)[4],
                                uint32_t right0, uint32_t right1) {
  if constexpr (std::is_same_v<T, Bf16>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]),
                   "r"(right0), "r"(right1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]),
                   "r"(right0), "r"(right1));
}

/// Two numbers rounded to nearest even, the first in the lower half.
template <class T = Bf16>
__device__ inline uint32_t pack(float first, float second) {
  if constexpr (std::is_same_v<T, Bf16>) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return *reinterpret_cast<const uint32_t*>(&both);
  } else {
    const __half2 both = __floats2half2_rn(first, second);
    return *reinterpret_cast<const uint32_t*>(&both);
  }
}

/// Converts two adjacent accumulators to a left operand: 16 rows, 16 columns.
__device__ inline void asLeft(uint32_t (&to)[4], const float (&a)[4],
                              const float (&b)[4]) {
  to[0] = pack(a[0], a[1]);
  to[1] = pack(a[2], a[3]);
  to[2] = pack(b[0], b[1]);
  to[3] = pack(b[2], b[3]);
}

/// Stores two neighbours of a row of `columns` elements, except those beyond
/// the end of the row.
__device__ inline void storePair(Bf16* row, int column, int columns,
                                 bool isAligned, float first, float second) {
  if (isAligned) {
    if (column < columns)
      *reinterpret_cast<uint32_t*>(row + column) = pack(first, second);
    return;
  }
  if (column < columns)
    row[column] = __float2bfloat16(first);
  if (column + 1 < columns)
    row[column + 1] = __float2bfloat16(second);
}

/// Transposes four words of each of the four lanes of a quad: word i of lane j
/// becomes word j of lane i.
__device__ __forceinline__ void transposeQuad(uint32_t (&words)[4]) {
  const int lane = int(threadIdx.x) % 4;
#pragma unroll
  for (int far = 1; far < 4; far *= 2) {
    const bool isUpper = lane & far;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & far)
        continue;
      uint32_t &low = words[i], &high = words[i + far];
      const uint32_t other = __shfl_xor_sync(~0u, isUpper ? low : high, far);
      (isUpper ? low : high) = other;
    }
  }
}

/// Copies 8 or 16 bytes from global to shared memory, or writes zeros if not
/// `isRead`.
template <int size>
__device__ inline void copyAsync(uint32_t to, const void* from, bool isRead) {
  const int bytes = isRead ? size : 0;
  if constexpr (size == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "r"(bytes));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to),
                 "l"(from), "r"(bytes));
}
__device__ inline void copyChunk(uint32_t to, const Bf16* from, bool isRead) {
  copyAsync<16>(to, from, isRead);
}
__device__ inline void commitCopies() {
  asm volatile("cp.async.commit_group;");
}
/// Waits until at most `pending` of this thread's committed groups are in
/// flight.
template <int pending> __device__ void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// The source of a tile's elements: `rows` rows of `columns` elements with a
/// stride of `stride`. Elements beyond them are zeros.
template <class T> struct RowSource {
  const T* data;
  int64_t stride;
  int rows, columns;
  bool isAligned; // every chunk lies at a multiple of 16 bytes
};
using TileSource = RowSource<Bf16>;

/// Fills a tile element by element, for unaligned sources.
template <int rows, int threads, int width>
__device__ __noinline__ void fillSlowly(Tile<width> tile, TileSource source) {
  for (int i = int(threadIdx.x); i < rows * width; i += threads) {
    const int row = i / width, column = i % width;
    const bool isInside = row < source.rows && column < source.columns;
    tile.at(row, column / chunkSize)[column % chunkSize] =
        isInside ? source.data[row * source.stride + column]
                 : __float2bfloat16(0.0f);
  }
}

/// Starts to fill the first `rows` rows of a tile. All `threads` threads of the
/// block call it. Eight threads copy 128 bytes of a row, so that all chunks of
/// a thread have the same position within such 128-byte pieces.
template <int rows, int threads, int width>
__device__ __forceinline__ void fill(Tile<width> tile,
                                     const TileSource& source) {
  constexpr int atOnce = threads / 8; // rows
  static_assert(rows % atOnce == 0 && atOnce % 8 == 0);
  if (!source.isAligned) {
    fillSlowly<rows, threads>(tile, source);
    return;
  }
  const int row = int(threadIdx.x) / 8, chunk = int(threadIdx.x) % 8;
  const auto to = uint32_t(__cvta_generic_to_shared(tile.at(row, chunk)));
  const Bf16* const from =
      source.data + row * source.stride + chunk * chunkSize;
#pragma unroll
  for (int i = 0; i < rows / atOnce; ++i)
#pragma unroll
    for (int piece = 0; piece < width / 64; ++piece) {
      const bool isInside = row + i * atOnce < source.rows &&
                            chunk * chunkSize + piece * 64 < source.columns;
      copyChunk(to + uint32_t(i * atOnce * Tile<width>::rowBytes + piece * 128),
                isInside ? from + i * atOnce * source.stride + piece * 64
                         : source.data,
                isInside);
    }
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_COMMON_MATRIXFRAGMENTS_CUH
