// Transposes an fp8 matrix on a GPU. A block has a tile and writes it through
// shared memory, in the same way as the transposed output of a quantize
// (QuantizeTiles.cuh).

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/quantize/QuantizeTiles.cuh"

#include <cassert>

namespace reciperun::kernels {
namespace {

using narrow::Bytes;
using narrow::groups;
using narrow::piece;
using narrow::side;
using narrow::tileThreads;

/// Loads a thread's 8 rows of 8 bytes, with zeros outside the matrix.
template <bool isWhole>
__device__ void loadBytes(const uint8_t* q, const narrow::Matrix& m,
                          int64_t row, int64_t column, Bytes& to) {
#pragma unroll
  for (int i = 0; i < piece; ++i) {
    to[i] = make_uint2(0, 0);
    if (row + i >= m.rows || column >= m.columns)
      continue;
    const uint8_t* const from = q + (row + i) * m.columns + column;
    if constexpr (isWhole) {
      to[i] = *reinterpret_cast<const uint2*>(from);
    } else {
      for (int j = 0; j < piece && column + j < m.columns; ++j)
        (j < 4 ? to[i].x : to[i].y) |= uint32_t(from[j]) << 8 * (j % 4);
    }
  }
}

template <bool isWhole>
__global__ void __launch_bounds__(tileThreads)
    transposeTiles(const uint8_t* q, const __grid_constant__ narrow::Matrix m) {
  __shared__ uint2 room[side * groups];
  const narrow::TilePlace tile = narrow::placeOfTile(m, int(blockIdx.x));
  const int64_t row = tile.row * side, column = tile.column * side;
  Bytes bytes;
  loadBytes<isWhole>(q, m, row + int(threadIdx.x) / groups * piece,
                     column + int(threadIdx.x) % groups * piece, bytes);
  narrow::turn(bytes);
  narrow::writeColumns<isWhole>(m, bytes, room, row, column);
}

} // namespace

Status transposeCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &from = args.inputs[0], &to = args.outputs[0];
  assert(from.bytes() == from.elements() && "elements have 8 bits");
  narrow::Matrix m = {};
  m.qt = to.as<uint8_t>();
  m.rows = from.shape[0];
  m.columns = from.shape[1];
  const auto* const q = from.as<uint8_t>();
  const bool isWhole = m.columns % piece == 0 && m.rows % 16 == 0 &&
                       areAligned(piece, q) && areAligned(16, m.qt);
  auto* const kernel = isWhole ? &transposeTiles<true> : &transposeTiles<false>;
  const int64_t tiles = ceilDivide(m.rows, side) * ceilDivide(m.columns, side);
  kernel<<<unsigned(tiles), tileThreads, 0, args.context.stream()>>>(q, m);
  return device::launchStatus();
}

} // namespace reciperun::kernels
