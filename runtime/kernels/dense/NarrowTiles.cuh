// Matmuls of few rows on tensor cores: y [rows,n] = x [rows,k] w [n,k]^T in
// bf16 with a weight in bf16, fp8, int8 or int4. Their time is that of reading
// the weight.
//
// A block computes 16 outputs, and its warps divide the columns among them. In
// a step, a warp takes 64 bytes of each of the 16 rows of the weight, two rows
// a lane. It widens them to bf16 in registers and multiplies them by the same
// columns of x, which come from the L1 cache; the weight bypasses it. The sum
// over columns has any order as long as both operands have the same one, so
// that each lane multiplies the elements that it has read.
//
// Lanes copy the weight of later steps to shared memory while they multiply,
// and read only what they have copied themselves. They copy the first steps of
// a constant weight while the previous kernel still runs.

#ifndef RECIPERUN_KERNELS_DENSE_NARROWTILES_CUH
#define RECIPERUN_KERNELS_DENSE_NARROWTILES_CUH

#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/common/OverlappedLaunch.cuh"
#include "runtime/sizes/WeightScales.h"

#include <cstdint>
#include <type_traits>

namespace reciperun::kernels::narrow {

using cuda::Bf16;

/// The operands of a matmul. Rows of x and w are whole, aligned vectors of 16
/// bytes.
struct Operands {
  const Bf16* x;
  const uint8_t* w;
  const float* scales;  // of the weight; null in bf16
  const float* inScale; // [k], multiplies the columns of x; or null
  const Bf16* base;     // [rows,n], added to y; or null
  Bf16* y;
  int64_t rows, n, k;
  int64_t scaleRows;   // weight rows that share scales
  int64_t scaleStride; // scales between such rows; 0: one for all
  float alpha;
  bool isConstant; // the weight, which no kernel writes

  /// The first scale of a row of the weight.
  __device__ const float* scalesOf(int64_t row) const {
    return scales + row / scaleRows * scaleStride;
  }
};

/// Starts to copy a vector to shared memory, bypassing L1 because it is read
/// once.
__device__ inline void copyOnce(uint4* to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                   uint32_t(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

/// a - b for both halves of the words, in bf16.
__device__ inline uint32_t subtractPairs(uint32_t a, uint32_t b) {
  uint32_t difference;
  asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

__device__ inline uint32_t multiplyPairs(uint32_t a, uint32_t b) {
  uint32_t product;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

// The stored formats of a weight. 16 bytes hold `elements` weights. widen()
// converts them exactly to pairs in bf16, and arrange() puts 8 elements of x
// into the order of the pairs.

struct StoredBf16 {
  static constexpr int elements = 8;

  static __device__ void widen(const uint4& stored, uint32_t (&pairs)[4]) {
    pairs[0] = stored.x;
    pairs[1] = stored.y;
    pairs[2] = stored.z;
    pairs[3] = stored.w;
  }
  static __device__ uint4 arrange(const uint4& x) { return x; }
};

/// f8e4m3. Its exponent and mantissa bits, moved into a bf16, stand for a value
/// that is smaller by a factor of 2^120. Pairs are elements 0 and 2 of a word,
/// then 1 and 3.
struct StoredFp8 {
  static constexpr int elements = 16;

  static __device__ void widen(const uint4& stored, uint32_t (&pairs)[8]) {
    const uint32_t words[] = {stored.x, stored.y, stored.z, stored.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      pairs[2 * i] = widened(words[i] << 4, words[i] << 8);
      pairs[2 * i + 1] = widened(words[i] >> 4, words[i]);
    }
  }
  static __device__ uint4 arrange(const uint4& x) {
    return {__byte_perm(x.x, x.y, 0x5410), __byte_perm(x.x, x.y, 0x7632),
            __byte_perm(x.z, x.w, 0x5410), __byte_perm(x.z, x.w, 0x7632)};
  }

private:
  /// Widens a pair whose magnitude and sign bits are at their positions in
  /// bf16.
  static __device__ uint32_t widened(uint32_t magnitudes, uint32_t signs) {
    constexpr uint32_t factors = 0x7b807b80; // 2^120 twice
    return multiplyPairs((magnitudes & 0x07f007f0) | (signs & 0x80008000),
                         factors);
  }
};

/// i8. The lower seven bits become the mantissa of a bf16 from 128 to 255.
/// Subtracting 128, or 256 for a negative number, gives the value.
struct StoredInt8 {
  static constexpr int elements = 16;

  static __device__ void widen(const uint4& stored, uint32_t (&pairs)[8]) {
    constexpr uint32_t base = 0x43004300; // 128 twice
    const uint32_t words[] = {stored.x, stored.y, stored.z, stored.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint32_t lower =
          __byte_perm(words[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
      pairs[i] = subtractPairs((lower & 0x007f007f) | base,
                               (lower & 0x00800080) | base);
    }
  }
  static __device__ uint4 arrange(const uint4& x) {
    return x;
  }
};

/// i4, stored with 8 added: two elements per byte, the first in the lower half.
/// A pair is elements i and i + 4 of a word, whose bits are 16 apart.
struct StoredInt4 {
  static constexpr int elements = 32;

  static __device__ void widen(const uint4& stored, uint32_t (&pairs)[16]) {
    constexpr uint32_t base = 0x43004300, zero = 0x43084308; // 128, 136
    const uint32_t words[] = {stored.x, stored.y, stored.z, stored.w};
#pragma unroll
    for (int i = 0; i < 16; ++i)
      pairs[i] =
          subtractPairs((words[i / 4] >> i % 4 * 4 & 0x000f000f) | base, zero);
  }
  static __device__ uint4 arrange(const uint4& x) {
    return {__byte_perm(x.x, x.z, 0x5410), __byte_perm(x.x, x.z, 0x7632),
            __byte_perm(x.y, x.w, 0x5410), __byte_perm(x.y, x.w, 0x7632)};
  }
};

/// The columns that a warp processes in a step.
template <class Stored> inline constexpr int stepColumns = 4 * Stored::elements;

/// Multiplies pairs of elements by their factors and rounds.
__device__ inline uint4 scaled(const uint4& x, const float* factors) {
  const uint32_t words[] = {x.x, x.y, x.z, x.w};
  uint32_t products[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float first = __uint_as_float(words[i] << 16),
                second = __uint_as_float(words[i] & 0xffff0000u);
    products[i] = cuda::pack(first * __ldg(factors + 2 * i),
                             second * __ldg(factors + 2 * i + 1));
  }
  return {products[0], products[1], products[2], products[3]};
}

/// Reads a lane's columns of x in a step, or zeros beyond the last row.
template <class Stored>
__device__ void readColumns(const Operands& of, int64_t row, int64_t column,
                            uint32_t (&pairs)[Stored::elements / 2]) {
#pragma unroll
  for (int i = 0; i < Stored::elements / 8; ++i) {
    uint4 x = {};
    if (row < of.rows) {
      const int64_t begin = column + i * 8;
      x = *reinterpret_cast<const uint4*>(of.x + row * of.k + begin);
      if (of.inScale)
        x = scaled(x, of.inScale + begin);
    }
    x = Stored::arrange(x);
    pairs[4 * i] = x.x;
    pairs[4 * i + 1] = x.y;
    pairs[4 * i + 2] = x.z;
    pairs[4 * i + 3] = x.w;
  }
}

/// The number of steps that a warp copies ahead. A step of int4 takes the
/// longest to multiply.
template <class Stored>
inline constexpr int copiedSteps = std::is_same_v<Stored, StoredInt4> ? 2 : 4;

/// The shared memory of a block: the copied weights, later the sums of the
/// warps.
template <class Stored, int tiles, int warps> union TileRoom {
  static constexpr int outputs = 16;

  uint4 copied[copiedSteps<Stored>][2][warps * 32];
  float parts[warps][tiles * 8][outputs + 1]; // padded against bank conflicts
};

/// Block (i, j) computes outputs 16 i to 16 i + 15 of rows 8 tiles j to 8 tiles
/// (j + 1) - 1. With `isGrouped` the scales are of groups of columns, otherwise
/// of whole rows.
template <class Stored, int tiles, int warps, bool isGrouped>
__global__ void __launch_bounds__(warps * 32)
    multiply(const __grid_constant__ Operands of) {
  using Room = TileRoom<Stored, tiles, warps>;
  constexpr int outputs = Room::outputs, tileRows = 8;
  constexpr int depth = copiedSteps<Stored>;
  constexpr int pairs = Stored::elements / 2;
  constexpr bool isScaled = !std::is_same_v<Stored, StoredBf16>;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int group = lane / 4, quarter = lane % 4;
  const int64_t firstOutput = int64_t(blockIdx.x) * outputs;
  const int64_t firstRow = int64_t(blockIdx.y) * tiles * tileRows;
  const int64_t rowBytes = of.k / Stored::elements * int64_t(sizeof(uint4));
  const int steps = int(of.k / stepColumns<Stored>);

  const uint8_t* weights[2];
  const float* scales[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int64_t row = min(firstOutput + group + i * 8, of.n - 1);
    weights[i] = of.w + row * rowBytes + quarter * int(sizeof(uint4));
    if constexpr (isGrouped)
      scales[i] = of.scalesOf(row);
  }

  extern __shared__ uint4 shared[];
  Room& room = *reinterpret_cast<Room*>(shared);
  auto copy = [&](int step, int slot) {
    if (step < steps)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        copyOnce(&room.copied[slot][i][threadIdx.x],
                 weights[i] + int64_t(step) * 64);
    cuda::commitCopies();
  };
  releaseNextKernel();
  if (!of.isConstant)
    waitForPreviousKernel();
#pragma unroll
  for (int d = 0; d < depth; ++d)
    copy(warp + d * warps, d);
  waitForPreviousKernel();

  float sums[tiles][4] = {};
  for (int begin = warp; begin < steps; begin += warps * depth) {
#pragma unroll
    for (int d = 0; d < depth; ++d) {
      const int step = begin + d * warps;
      if (step >= steps)
        break;
      float factors[2];
      if constexpr (isGrouped)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          factors[i] = __ldg(scales[i] + int64_t(step) * stepColumns<Stored> /
                                             sizes::weightGroup);
      cuda::waitForCopies<depth - 1>();
      uint32_t upper[pairs], lower[pairs];
      Stored::widen(room.copied[d][0][threadIdx.x], upper);
      Stored::widen(room.copied[d][1][threadIdx.x], lower);
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        uint32_t x[pairs];
        readColumns<Stored>(of, firstRow + tile * tileRows + group,
                            int64_t(step) * stepColumns<Stored> +
                                quarter * Stored::elements,
                            x);
        float ofGroup[4] = {};
        float(&sum)[4] = isGrouped ? ofGroup : sums[tile];
#pragma unroll
        for (int i = 0; i < pairs; i += 2)
          cuda::multiply(sum, {upper[i], lower[i], upper[i + 1], lower[i + 1]},
                         x[i], x[i + 1]);
        if constexpr (isGrouped)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[tile][i] += ofGroup[i] * factors[i / 2];
      }
      copy(step + depth * warps, d);
    }
  }

  __syncthreads(); // no warp reads its copies any more
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      room.parts[warp][tile * tileRows + quarter * 2 + i % 2]
                [group + i / 2 * 8] = sums[tile][i];
  __syncthreads();
  for (int at = int(threadIdx.x); at < tiles * tileRows * outputs;
       at += warps * 32) {
    const int64_t row = firstRow + at / outputs,
                  output = firstOutput + at % outputs;
    if (row >= of.rows || output >= of.n)
      continue;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < warps; ++i)
      sum += room.parts[i][at / outputs][at % outputs];
    if constexpr (isScaled && !isGrouped)
      sum *= *of.scalesOf(output);
    const int64_t index = row * of.n + output;
    const float base = of.base ? float(of.base[index]) : 0.f;
    of.y[index] = Bf16(fmaf(of.alpha, sum, base));
  }
}

/// The blocks that compute all outputs of some rows.
inline int64_t blocksOf(const Operands& of) {
  return (of.n + 15) / 16;
}

template <class Stored, int tiles, int warps, bool isGrouped>
void launchTiles(const Operands& of, const device::CudaContext& context) {
  constexpr int64_t rows = tiles * 8;
  constexpr size_t sharedBytes = sizeof(TileRoom<Stored, tiles, warps>);
  auto* const kernel = &multiply<Stored, tiles, warps, isGrouped>;
  const dim3 grid(unsigned(blocksOf(of)),
                  unsigned((of.rows + rows - 1) / rows));
  // If this fails, the launch reports the error.
  cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                       int(sharedBytes));
  launchOverlapped(context, kernel, grid, warps * 32, sharedBytes, of);
}

/// Whether rows of k columns are whole steps, at an aligned address.
template <class Stored> bool isWhole(const Operands& of) {
  const auto isAligned = [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % sizeof(uint4) == 0;
  };
  return of.k % stepColumns<Stored> == 0 && isAligned(of.x) && isAligned(of.w);
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_DENSE_NARROWTILES_CUH
