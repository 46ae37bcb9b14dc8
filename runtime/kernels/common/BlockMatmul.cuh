// A 128 by 128 matmul tile computed by one block of 256 threads. The tile
// accumulates any number of steps in float: bf16 on tensor cores, f32 with
// plain multiplications.
//
// Each step supplies an operand tile as rows of [128, summed] or, if `across`,
// of [summed, 128]. Elements outside its rows and columns are zeros. bf16:
// warps form a 2 by 4 grid, each warp computes 64 by 32 elements, and copies of
// the next steps overlap with the multiplication of the current one.

#ifndef RECIPERUN_KERNELS_COMMON_BLOCKMATMUL_CUH
#define RECIPERUN_KERNELS_COMMON_BLOCKMATMUL_CUH

#include "runtime/kernels/common/MatrixFragments.cuh"

#include <type_traits>

namespace reciperun::kernels::cuda {

inline constexpr int matmulSide = 128;
inline constexpr int matmulThreads = 256;

/// The operand tiles of one step.
template <class T> struct MatmulStep { RowSource<T> a, b; };

template <class T, bool acrossA, bool acrossB> class BlockMatmul;

template <bool acrossA, bool acrossB>
class BlockMatmul<Bf16, acrossA, acrossB> {
public:
  /// Size of a step along the summed dimension, and steps in shared memory.
  static constexpr int depth = 64, stages = 3;
  static constexpr int operandBytes = matmulSide * depth * int(sizeof(Bf16));
  static constexpr int sharedBytes = stages * 2 * operandBytes;

  __device__ explicit BlockMatmul(char* shared)
      : shared(shared), lane(int(threadIdx.x) % 32),
        rowBegin(int(threadIdx.x) / 32 / 4 * 64),
        columnBegin(int(threadIdx.x) / 32 % 4 * 32) {}

  /// Accumulates `count` steps. step(i) returns the operands of the i-th step
  /// and is called in order.
  template <class Step> __device__ void run(int count, Step step) {
    for (int i = 0; i < stages - 1; ++i) {
      if (i < count)
        copy(i, step(i));
      commitCopies();
    }
    for (int i = 0; i < count; ++i) {
      waitForCopies<stages - 2>();
      __syncthreads();
      if (const int coming = i + stages - 1; coming < count)
        copy(coming % stages, step(coming));
      commitCopies();
      multiplyStage(i % stages);
    }
    waitForCopies<0>();
  }

  /// Calls store(row, column, first, second) for pairs of neighbours in a row,
  /// until all sums of this thread are stored.
  template <class Store> __device__ void forEachPair(Store store) const {
#pragma unroll
    for (int m = 0; m < 4; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          store(rowBegin + m * 16 + half * 8 + lane / 4,
                columnBegin + n * 8 + lane % 4 * 2, sums[m][n][2 * half],
                sums[m][n][2 * half + 1]);
  }

private:
  using TileA = Tile<acrossA ? matmulSide : depth>;
  using TileB = Tile<acrossB ? matmulSide : depth>;

  __device__ TileA tileA(int stage) const {
    return {reinterpret_cast<Bf16*>(shared + stage * 2 * operandBytes)};
  }
  __device__ TileB tileB(int stage) const {
    return {reinterpret_cast<Bf16*>(shared + (stage * 2 + 1) * operandBytes)};
  }

  __device__ __forceinline__ void copy(int stage,
                                       const MatmulStep<Bf16>& from) const {
    fill<acrossA ? depth : matmulSide, matmulThreads>(tileA(stage), from.a);
    fill<acrossB ? depth : matmulSide, matmulThreads>(tileB(stage), from.b);
  }

  __device__ __forceinline__ void multiplyStage(int stage) {
    const Operands left(tileA(stage), lane);
    const Operands right(tileB(stage), lane);
    // Different warps have different rows and columns, so these are not
    // compile-time constants: each warp computes its own addresses.
#pragma unroll
    for (int d = 0; d < depth; d += 16) {
      uint32_t b[2][4];
#pragma unroll
      for (int n = 0; n < 2; ++n)
        if constexpr (acrossB)
          right.rightAcross(b[n], columnBegin + n * 16, d);
        else
          right.right(b[n], columnBegin + n * 16, d);
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        uint32_t a[4];
        if constexpr (acrossA)
          left.leftAcross(a, rowBegin + m * 16, d);
        else
          left.left(a, rowBegin + m * 16, d);
#pragma unroll
        for (int n = 0; n < 4; ++n)
          multiply(sums[m][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
      }
    }
  }

  char* const shared;
  const int lane, rowBegin, columnBegin;
  float sums[4][4][4] = {};
};

/// Thread (y, x) of 16 by 16 holds rows y + 16 i and columns 2 x + 32 j and 2 x
/// + 32 j + 1.
template <bool acrossA, bool acrossB>
class BlockMatmul<float, acrossA, acrossB> {
public:
  static constexpr int depth = 16;
  /// The stride of rows of 128 elements. The padding of four banks avoids bank
  /// conflicts when a warp writes across the rows.
  static constexpr int row = matmulSide + 4;
  static constexpr int sharedBytes = 2 * depth * row * int(sizeof(float));

  __device__ explicit BlockMatmul(char* shared)
      : a(reinterpret_cast<float*>(shared)), b(a + depth * row),
        x(int(threadIdx.x) % 16), y(int(threadIdx.x) / 16) {}

  template <class Step> __device__ void run(int count, Step step) {
    for (int i = 0; i < count; ++i) {
      const MatmulStep<float> from = step(i);
      __syncthreads();
      copy<acrossA>(a, from.a);
      copy<acrossB>(b, from.b);
      __syncthreads();
      multiplyStep();
    }
  }

  template <class Store> __device__ void forEachPair(Store store) const {
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        store(y + i * 16, 2 * x + j * 32, sums[i][2 * j], sums[i][2 * j + 1]);
  }

private:
  /// Copies an operand into the layout [summed, 128].
  template <bool across>
  __device__ static void copy(float* to, const RowSource<float>& from) {
    for (int i = int(threadIdx.x); i < depth * matmulSide; i += matmulThreads) {
      const int place = across ? i % matmulSide : i / depth;
      const int summed = across ? i / matmulSide : i % depth;
      const int r = across ? summed : place, c = across ? place : summed;
      to[summed * row + place] = r < from.rows && c < from.columns
                                     ? from.data[r * from.stride + c]
                                     : 0.0f;
    }
  }

  __device__ void multiplyStep() {
#pragma unroll 4
    for (int d = 0; d < depth; ++d) {
      float rows[8], columns[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        rows[i] = a[d * row + y + i * 16];
        columns[i] = b[d * row + 2 * x + i / 2 * 32 + i % 2];
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sums[i][j] += rows[i] * columns[j];
    }
  }

  float *const a, *const b;
  const int x, y;
  float sums[8][8] = {};
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_COMMON_BLOCKMATMUL_CUH
