// See SkinnyMatmuls.h, and SkinnyTiles.cuh for the copies of operands.
//
//   - makeThin: a block has 64 tokens and iterates over X in steps of 64
//     elements. Copies of X and of the matrices run several steps ahead. Each
//     half of the warps accumulates one half of each step.
//   - makeWide: a block has 64 tokens, keeps their thin operands, and iterates
//     over X in steps of 128 elements. Copies of the next matrices and of the
//     next elements to add to overlap with the multiplication.
//   - addToMatrices: a block has 128 elements of X and iterates over a piece of
//     the tokens in steps of 64. The sums of pieces go to the scratch and are
//     added in order.

#include "runtime/kernels/dense/SkinnyMatmuls.h"

#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/dense/SkinnyTiles.cuh"
#include "runtime/ops/DenseOps.h"

#include <algorithm>
#include <cmath>

namespace reciperun::kernels {
namespace {

using cuda::Bf16;
using cuda::chunkSize;
using cuda::Tile;
using device::CudaKernelArgs;
using device::Tensor;
using thin::fillAcross;
using thin::fillMatrices;
using thin::fillThin;
using thin::fillWide;
using thin::group;
using thin::mostParts;
using thin::multiplyRows;
using thin::Shape;
using thin::side;
using thin::span;
using thin::tileBytes;
using thin::Tiles;
using thin::tileWidth;

constexpr int usualThreads = 128, thinThreads = 256;
constexpr int widestPart = 64, mostColumns = 128;
constexpr int64_t fewestTokens = 256, fewestWide = 512, muchWider = 8;

// ---- T = alpha X W^T

/// The stages of makeThin that fit into 100 KiB, so that a multiprocessor holds
/// two blocks.
template <int groups, bool isAcross> struct ThinStages {
  static constexpr size_t bytes =
      tileBytes<64>(side) + (isAcross ? tileBytes<tileWidth<groups>>(64)
                                      : tileBytes<64>(16 * groups));
  static constexpr int count = int((100 << 10) / bytes);
};

template <int groups, bool isAcross>
__global__ void __launch_bounds__(thinThreads)
    thinKernel(const __grid_constant__ Shape shape, const Bf16* x) {
  constexpr int stages = ThinStages<groups, isAcross>::count;
  constexpr int width = isAcross ? tileWidth<groups> : 64;
  constexpr int rows = isAcross ? 64 : groups * group;
  Tiles tiles;
  const Tile<64> wideTiles = tiles.take<64>(side * stages);
  const Tile<width> matrixTiles = tiles.take<width>(rows * stages);
  auto wideTile = [&](int stage) {
    return Tile<64>{wideTiles.data + stage * side * 64};
  };
  auto matrixTile = [&](int stage) {
    return Tile<width>{matrixTiles.data + stage * rows * width};
  };
  const int64_t token = int64_t(blockIdx.x) * side;
  const int steps = int(shape.wide / 64);
  auto copy = [&](int step) {
    if (step < steps) {
      fillWide<thinThreads>(wideTile(step % stages), shape, x, token,
                            shape.tokens, int64_t(step) * 64);
      if constexpr (isAcross)
        fillAcross<thinThreads, 64>(matrixTile(step % stages), shape,
                                    int64_t(step) * 64);
      else
        fillMatrices<thinThreads, groups>(matrixTile(step % stages), shape,
                                          int64_t(step) * 64);
    }
    cuda::commitCopies();
  };
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int rowBegin = warp / 2 % 2 * 32, columnBegin = warp % 2 * (groups * 8);
  const int begin = warp / 4 * 32; // of this warp's half of a step
  float sums[2][groups][4] = {};
  for (int step = 0; step < stages - 1; ++step)
    copy(step);
  for (int step = 0; step < steps; ++step) {
    cuda::waitForCopies<stages - 2>();
    __syncthreads();
    copy(step + stages - 1);
    const cuda::Operands<64> left(wideTile(step % stages), lane);
    const cuda::Operands<width> right(matrixTile(step % stages), lane);
#pragma unroll
    for (int from = 0; from < 32; from += group)
      multiplyRows<isAcross>(sums, left, rowBegin, right, columnBegin,
                             begin + from);
  }
  cuda::waitForCopies<0>();
  __syncthreads();
  // The warps of the second half pass their sums to those of the first through
  // the memory of the tiles.
  float* const room = reinterpret_cast<float*>(wideTiles.data) +
                      threadIdx.x % (thinThreads / 2);
  auto roomOf = [&](int i, int j, int e) -> float& {
    return room[((i * groups + j) * 4 + e) * (thinThreads / 2)];
  };
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < groups; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (begin > 0)
          roomOf(i, j, e) = sums[i][j][e];
  __syncthreads();
  if (begin > 0)
    return;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < groups; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t row = token + rowBegin + i * group + half * 8 + lane / 4;
        const int column = columnBegin + j * 8 + lane % 4 * 2;
        if (row < shape.tokens && column < shape.parts.columns)
          *reinterpret_cast<uint32_t*>(shape.parts.thinAt(row, column)) =
              cuda::pack(
                  shape.alpha * (sums[i][j][half * 2] + roomOf(i, j, half * 2)),
                  shape.alpha *
                      (sums[i][j][half * 2 + 1] + roomOf(i, j, half * 2 + 1)));
      }
}

// ---- X = base + alpha T W

template <int groups, bool isAcross>
constexpr size_t wideBytes = tileBytes<tileWidth<groups>>(side) +
                             2 * tileBytes<span>(side) +
                             2 * (isAcross ? tileBytes<tileWidth<groups>>(span)
                                           : tileBytes<span>(16 * groups));

/// Block (i, j) has 64 tokens and the j-th piece of X's tiles.
template <int groups, bool isAcross>
__global__ void __launch_bounds__(usualThreads)
    wideKernel(const __grid_constant__ Shape shape, const Bf16* base, Bf16* x) {
  constexpr int width = isAcross ? tileWidth<groups> : span;
  constexpr int rows = isAcross ? span : groups * group;
  Tiles tiles;
  const auto thinTile = tiles.take<tileWidth<groups>>(side);
  const Tile<span> sumTiles = tiles.take<span>(side * 2);
  const Tile<width> matrixTiles = tiles.take<width>(rows * 2);
  auto sumTile = [&](int turn) {
    return Tile<span>{sumTiles.data + turn * side * span};
  };
  auto matrixTile = [&](int turn) {
    return Tile<width>{matrixTiles.data + turn * rows * width};
  };
  const int64_t token = int64_t(blockIdx.x) * side, all = shape.wide / span;
  const int64_t begin = all * blockIdx.y / gridDim.y,
                end = all * (blockIdx.y + 1) / gridDim.y;
  auto copy = [&](int64_t at) {
    if (at < end) {
      const int turn = int(at - begin) % 2;
      if constexpr (isAcross)
        fillAcross<usualThreads, span>(matrixTile(turn), shape, at * span);
      else
        fillMatrices<usualThreads, groups>(matrixTile(turn), shape, at * span);
      if (base)
        fillWide<usualThreads>(sumTile(turn), shape, base, token, shape.tokens,
                               at * span);
    }
    cuda::commitCopies();
  };
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int rowBegin = warp / 2 * 32, columnBegin = warp % 2 * 64;
  fillThin<usualThreads>(thinTile, shape, token, shape.tokens);
  copy(begin);
  const cuda::Operands<tileWidth<groups>> left(thinTile, lane);
  for (int64_t at = begin; at < end; ++at) {
    copy(at + 1);
    cuda::waitForCopies<1>();
    __syncthreads();
    const int turn = int(at - begin) % 2;
    const cuda::Operands<width> right(matrixTile(turn), lane);
    float sums[2][8][4] = {};
#pragma unroll
    for (int k = 0; k < groups * group; k += group)
      multiplyRows<!isAcross>(sums, left, rowBegin, right, columnBegin, k);
    // Each thread adds its sums to the tile; the block then writes the tile by
    // rows.
    const Tile<span> tile = sumTile(turn);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = rowBegin + i * group + half * 8 + lane / 4;
          const int column = columnBegin + j * 8;
          auto* const pair = reinterpret_cast<__nv_bfloat162*>(
              tile.at(row, column / chunkSize) + lane % 4 * 2);
          float2 sum = {shape.alpha * sums[i][j][half * 2],
                        shape.alpha * sums[i][j][half * 2 + 1]};
          if (base) {
            const float2 before = __bfloat1622float2(*pair);
            sum = {before.x + sum.x, before.y + sum.y};
          }
          *pair = __floats2bfloat162_rn(sum.x, sum.y);
        }
    __syncthreads();
    constexpr int chunks = span / chunkSize;
#pragma unroll
    for (int i = int(threadIdx.x); i < side * chunks; i += usualThreads) {
      const int row = i / chunks, chunk = i % chunks;
      if (token + row < shape.tokens)
        *reinterpret_cast<uint4*>(x + (token + row) * shape.wide + at * span +
                                  chunk * chunkSize) =
            *reinterpret_cast<const uint4*>(tile.at(row, chunk));
    }
    __syncthreads();
  }
  cuda::waitForCopies<0>();
}

// ---- W += alpha T^T X

template <int groups> struct MatrixStages {
  static constexpr size_t bytes =
      tileBytes<tileWidth<groups>>(side) + tileBytes<span>(side);
  static constexpr int count = int((100 << 10) / bytes);
};

/// Block (i, j) has the i-th 128 elements of X and the j-th piece of tokens.
/// `partial` is [pieces, 16 groups, wide].
template <int groups>
__global__ void __launch_bounds__(usualThreads)
    matrixKernel(const __grid_constant__ Shape shape, const Bf16* x,
                 int64_t pieceTokens, float* partial) {
  constexpr int stages = MatrixStages<groups>::count;
  constexpr int width = tileWidth<groups>;
  Tiles tiles;
  const Tile<width> thinTiles = tiles.take<width>(side * stages);
  const Tile<span> wideTiles = tiles.take<span>(side * stages);
  auto thinTile = [&](int stage) {
    return Tile<width>{thinTiles.data + stage * side * width};
  };
  auto wideTile = [&](int stage) {
    return Tile<span>{wideTiles.data + stage * side * span};
  };
  const int64_t from = int64_t(blockIdx.x) * span;
  const int64_t begin = int64_t(blockIdx.y) * pieceTokens;
  const int64_t end = min(shape.tokens, begin + pieceTokens);
  const int steps = int((end - begin + side - 1) / side);
  auto copy = [&](int step) {
    if (step < steps) {
      const int64_t token = begin + int64_t(step) * side;
      fillThin<usualThreads>(thinTile(step % stages), shape, token, end);
      fillWide<usualThreads>(wideTile(step % stages), shape, x, token, end,
                             from);
    }
    cuda::commitCopies();
  };
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int columnBegin = warp * 32;
  float sums[groups][4][4] = {};
  for (int step = 0; step < stages - 1; ++step)
    copy(step);
  for (int step = 0; step < steps; ++step) {
    cuda::waitForCopies<stages - 2>();
    __syncthreads();
    copy(step + stages - 1);
    const cuda::Operands<width> left(thinTile(step % stages), lane);
    const cuda::Operands<span> right(wideTile(step % stages), lane);
#pragma unroll
    for (int k = 0; k < side; k += group) {
      uint32_t b[2][4];
#pragma unroll
      for (int j = 0; j < 2; ++j)
        right.rightAcross(b[j], columnBegin + j * group, k);
#pragma unroll
      for (int i = 0; i < groups; ++i) {
        uint32_t a[4];
        left.leftAcross(a, i * group, k);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          cuda::multiply(sums[i][2 * j], a, b[j][0], b[j][1]);
          cuda::multiply(sums[i][2 * j + 1], a, b[j][2], b[j][3]);
        }
      }
    }
  }
  cuda::waitForCopies<0>();
  float* const mine =
      partial + int64_t(blockIdx.y) * groups * group * shape.wide;
#pragma unroll
  for (int i = 0; i < groups; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = i * group + half * 8 + lane / 4;
        const int column = columnBegin + j * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(mine + row * shape.wide + from + column) = {
            sums[i][j][half * 2], sums[i][j][half * 2 + 1]};
      }
}

/// The gradients that the sums of the pieces are added to.
template <class G> struct Matrices { G* data[mostParts]; };

template <class G>
__global__ void __launch_bounds__(256)
    addMatrices(const __grid_constant__ Shape shape, Matrices<G> matrices,
                bool isAcross, int pieces, int rows, const float* partial) {
  const int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (i >= shape.parts.columns * shape.wide)
    return;
  // Neighbouring threads write neighbouring elements.
  const int64_t column = isAcross ? i / shape.parts.columns : i % shape.wide;
  const int row = int(isAcross ? i % shape.parts.columns : i / shape.wide);
  float sum = 0;
  for (int piece = 0; piece < pieces; ++piece)
    sum += partial[(int64_t(piece) * rows + row) * shape.wide + column];
  const int part = shape.parts.partOf(row);
  G* const to =
      matrices.data[part] +
      (isAcross ? i : (row - shape.parts.first[part]) * shape.wide + column);
  *to = rounded<G>(float(*to) + shape.alpha * sum);
}

// ---- launches

Shape shapeOf(const CudaKernelArgs& args, const SkinnyMatmuls& products) {
  Shape shape{{},
              products.tokens(),
              products.wide(),
              float(ops::LinearAttributes(args.op.attributes).alpha)};
  for (size_t i = 0; i < products.parts.size(); ++i) {
    const SkinnyMatmuls::Part& part = products.parts[i];
    shape.parts.thin[i] = part.thin.as<Bf16>();
    shape.parts.matrix[i] = static_cast<const Bf16*>(part.matrix.data);
    shape.parts.width[i] = int(products.widthOf(part));
    shape.parts.first[i] = shape.parts.columns;
    shape.parts.columns += shape.parts.width[i];
  }
  return shape;
}

/// Returns body(groups) for the smallest even number of groups that holds all
/// columns.
template <class Body> Status withGroups(const Shape& shape, Body body) {
  if (shape.parts.columns <= 32)
    return body(std::integral_constant<int, 2>());
  if (shape.parts.columns <= 64)
    return body(std::integral_constant<int, 4>());
  if (shape.parts.columns <= 96)
    return body(std::integral_constant<int, 6>());
  return body(std::integral_constant<int, 8>());
}

/// Returns body(groups, isAcross). An `isAcross` matrix is a single part.
template <class Body>
Status withLayout(const Shape& shape, bool isAcross, Body body) {
  if (!isAcross)
    return withGroups(
        shape, [&](auto groups) { return body(groups, std::false_type()); });
  static_assert(widestPart == 4 * group);
  if (shape.parts.columns <= 32)
    return body(std::integral_constant<int, 2>(), std::true_type());
  return body(std::integral_constant<int, 4>(), std::true_type());
}

template <class... Operands, class... Given>
Status launch(void (*kernel)(Operands...), dim3 blocks, int threads,
              size_t bytes, cudaStream_t stream, Given... operands) {
  RECIPERUN_CUDA_TRY(cudaFuncSetAttribute,
                     reinterpret_cast<const void*>(kernel),
                     cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
  kernel<<<blocks, threads, bytes, stream>>>(operands...);
  return device::launchStatus();
}

bool isVector(const Tensor& tensor) {
  return areAligned(16, tensor.data);
}

} // namespace

int64_t SkinnyMatmuls::tokens() const {
  const Part& part = parts[0];
  return std::llround(std::sqrt((long double)(x.elements()) /
                                part.matrix.elements() * part.thin.elements()));
}

bool areThin(const SkinnyMatmuls& products) {
  if (products.parts.size() == 1 && !products.base)
    return false;
  const int64_t tokens = products.tokens(), wide = products.wide();
  if (products.x.type != plan::DType::bf16 || !isVector(products.x) ||
      !areAligned(16, products.base) || tokens < fewestTokens ||
      wide < fewestWide || wide % span != 0 ||
      products.parts.size() > (products.isAcross ? 1 : mostParts))
    return false;
  int64_t columns = 0;
  for (const SkinnyMatmuls::Part& part : products.parts) {
    const int64_t width = products.widthOf(part);
    if (part.thin.type != plan::DType::bf16 || !isVector(part.thin) ||
        !isVector(part.matrix) || width % chunkSize != 0 || width > widestPart)
      return false;
    columns += width;
  }
  // A row of partial sums of all columns must fit into the scratch.
  return columns <= mostColumns && wide >= muchWider * columns &&
         mostColumns * wide <= device::CudaContext::scratchCapacity<float>();
}

Status makeThin(const CudaKernelArgs& args, const SkinnyMatmuls& products) {
  const Shape shape = shapeOf(args, products);
  return withLayout(shape, products.isAcross, [&](auto groups, auto isAcross) {
    using Stages = ThinStages<groups.value, isAcross.value>;
    return launch(thinKernel<groups.value, isAcross.value>,
                  unsigned(ceilDivide(shape.tokens, side)), thinThreads,
                  Stages::bytes * Stages::count, args.context.stream(), shape,
                  static_cast<const Bf16*>(products.x.data));
  });
}

Status makeWide(const CudaKernelArgs& args, const SkinnyMatmuls& products) {
  const Shape shape = shapeOf(args, products);
  const int64_t rows = ceilDivide(shape.tokens, side);
  // Enough blocks for several waves, each with several tiles so that copies can
  // run ahead.
  const int64_t wanted =
      ceilDivide(int64_t(4) * args.context.multiprocessors(), rows);
  const int64_t pieces =
      std::clamp<int64_t>(wanted, 1, ceilDivide(shape.wide, 4 * span));
  return withLayout(shape, products.isAcross, [&](auto groups, auto isAcross) {
    return launch(
        wideKernel<groups.value, isAcross.value>,
        dim3(unsigned(rows), unsigned(pieces)), usualThreads,
        wideBytes<groups.value, isAcross.value>, args.context.stream(), shape,
        static_cast<const Bf16*>(products.base), products.x.as<Bf16>());
  });
}

Status addToMatrices(const CudaKernelArgs& args,
                     const SkinnyMatmuls& products) {
  const Shape shape = shapeOf(args, products);
  return withGroups(shape, [&](auto groups) -> Status {
    using Stages = MatrixStages<groups.value>;
    constexpr int rows = groups.value * group;
    const int64_t tiles = shape.wide / span;
    const int64_t room =
        device::CudaContext::scratchCapacity<float>() / (rows * shape.wide);
    const int64_t wanted = std::min(
        room, ceilDivide(int64_t(2) * args.context.multiprocessors(), tiles));
    const int64_t pieceTokens =
        ceilDivide(shape.tokens, std::max<int64_t>(1, wanted) * side) * side;
    const int64_t pieces = ceilDivide(shape.tokens, pieceTokens);
    auto* const partial = args.context.scratch<float>();
    RECIPERUN_TRY(launch(matrixKernel<groups.value>,
                         dim3(unsigned(tiles), unsigned(pieces)), usualThreads,
                         Stages::bytes * Stages::count, args.context.stream(),
                         shape, static_cast<const Bf16*>(products.x.data),
                         pieceTokens, partial));
    withStoredType(products.parts[0].matrix.type, [&]<class G>(DeviceType<G>) {
      Matrices<G> matrices = {};
      for (size_t i = 0; i < products.parts.size(); ++i)
        matrices.data[i] = products.parts[i].matrix.as<G>();
      addMatrices<<<unsigned(ceilDivide(shape.parts.columns * shape.wide, 256)),
                    256, 0, args.context.stream()>>>(
          shape, matrices, products.isAcross, int(pieces), rows, partial);
    });
    return device::launchStatus();
  });
}

} // namespace reciperun::kernels
