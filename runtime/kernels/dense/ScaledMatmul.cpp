// y = alpha a b^T for two fp8 matrices, computed in f32.
//
//   1. Cut y into tiles, one thread per tile.
//   2. Iterate over the summed dimension in blocks: convert the tile's rows of
//      a and b to floats, times their scales, and accumulate their product.
//   3. Round the tile into y once.

#include "runtime/device/Float8.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/TileMatmul.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/kernels/quantize/Quantize.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

#include <algorithm>
#include <cassert>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

constexpr int64_t tileWidth = blockWidth;
constexpr int64_t tileSize = tileWidth * blockWidth;

constexpr auto e4m3 = device::f8e4m3::table();
constexpr auto e5m2 = device::f8e5m2::table();

/// A quantized matrix [rows, width] that is read as floats.
struct Narrow {
  const uint8_t* data;
  const float* values; // of the 256 patterns
  Tensor scales;
  Blocks blocks;
  int64_t rows, width;

  Narrow(const Tensor& matrix, const Tensor& scale, Blocks blocks)
      : data(matrix.as<uint8_t>()),
        values((matrix.type == plan::DType::f8e4m3 ? e4m3 : e5m2).data()),
        scales(scale), blocks(blocks), rows(matrix.shape[0]),
        width(matrix.shape[1]) {}

  /// The scale of an element.
  float scaleOf(int64_t row, int64_t column) const {
    const float* all = scales.as<float>();
    const int64_t stride = scales.shape.back();
    switch (blocks) {
    case Blocks::tensor:
      return *all;
    case Blocks::wholeRows:
      return all[row];
    case Blocks::rows:
      return all[column / blockWidth * stride + row];
    case Blocks::squares:
      return all[row / blockWidth * stride + column / blockWidth];
    case Blocks::mx:
      return float(scales.as<device::f8e8m0>()[mxPlace(scales, row,
                                                       column / mxBlockWidth)]);
    }
    return 0;
  }

  /// Reads some rows of one block of the width to out[i * row + j * column].
  void read(int64_t first, int64_t count, int64_t piece, float* out,
            int64_t row, int64_t column) const {
    const int64_t begin = piece * blockWidth;
    const int64_t end = std::min(begin + blockWidth, width);
    const int64_t run = blocks == Blocks::mx ? mxBlockWidth : blockWidth;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = begin; j < end; j += run)
        readRun(first + i, j, std::min(j + run, end),
                out + i * row + (j - begin) * column, column);
  }

private:
  /// Reads elements of a row that share a scale.
  void readRun(int64_t row, int64_t begin, int64_t end, float* out,
               int64_t step) const {
    const uint8_t* from = data + row * width;
    const float scale = scaleOf(row, begin);
    for (int64_t j = begin; j < end; ++j)
      out[(j - begin) * step] = values[from[j]] * scale;
  }
};

/// The buffers of a thread: an output tile and the operands of one block.
struct Tile {
  float sum[tileSize], a[tileSize], b[tileSize];
};

template <class T>
void writeTile(const KernelArgs& args, const Tile& tile, int64_t row,
               int64_t height, int64_t column, int64_t width, int64_t stride) {
  const float alpha =
      float(ops::ScaledMatmulAttributes(args.op.attributes).alpha);
  const int64_t first = row * stride + column;
  T* y = args.outputs[0].as<T>() + first;
  const T* base = nullptr; // y itself, or a buffer that does not overlap y
  if (args.op.kind == plan::OpKind::ScaledMatmulAdd)
    base = args.inputs[4].as<T>() + first;
  else if (ops::ScaledMatmulAttributes(args.op.attributes).accumulate)
    base = y;
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const float made = alpha * tile.sum[i * tileWidth + j];
      const int64_t at = i * stride + j;
      y[at] = T(base ? float(base[at]) + made : made);
    }
}

void makeTile(const KernelArgs& args, const Narrow& a, const Narrow& b,
              int64_t number, Tile& tile) {
  const int64_t across = (b.rows + tileWidth - 1) / tileWidth;
  const int64_t row = number / across * tileWidth,
                column = number % across * tileWidth;
  const int64_t height = std::min(tileWidth, a.rows - row),
                width = std::min(tileWidth, b.rows - column);
  std::fill_n(tile.sum, tileSize, 0.0f);
  std::fill_n(tile.b, tileSize, 0.0f); // b may have fewer rows
  for (int64_t piece = 0; piece * blockWidth < a.width; ++piece) {
    a.read(row, height, piece, tile.a, blockWidth, 1);
    b.read(column, width, piece, tile.b, 1, tileWidth);
    device::tileMatmul<float>(
        height, tileWidth, std::min(blockWidth, a.width - piece * blockWidth),
        {tile.a, blockWidth, 1}, tile.b, tileWidth, tile.sum, tileWidth);
  }
  if (args.outputs[0].type == plan::DType::bf16)
    writeTile<device::bf16>(args, tile, row, height, column, width, b.rows);
  else
    writeTile<float>(args, tile, row, height, column, width, b.rows);
}

Status multiply(const KernelArgs& args) {
  const ops::ScaledMatmulAttributes attributes(args.op.attributes);
  const Narrow a(args.inputs[0], args.inputs[2],
                 sizes::scaleBlocksOf(attributes.aBlocks));
  const Narrow b(args.inputs[1], args.inputs[3],
                 sizes::scaleBlocksOf(attributes.bBlocks));
  assert(a.width == b.width && "a product sums over what both have");
  const int64_t tiles = ((a.rows + tileWidth - 1) / tileWidth) *
                        ((b.rows + tileWidth - 1) / tileWidth);
  device::parallelItems(
      args.context.threads(), tiles, [&](int64_t number, int thread) {
        makeTile(args, a, b, number, *args.context.scratch<Tile>(thread, 1));
      });
  return Status::ok();
}

} // namespace

Status scaledMatmulKernel(const KernelArgs& args) {
  return multiply(args);
}

Status scaledMatmulAddKernel(const KernelArgs& args) {
  return multiply(args);
}

} // namespace reciperun::kernels
