// Column sums of a matrix on a GPU: the gradients of norm weights and of
// biases.
//
//   1. A kernel of the op sums pieces of the rows, one piece per block, into
//      `partial` [pieces, width] in the context's scratch.
//   2. addPieces adds them in a fixed order, so no sum depends on timing.

#ifndef RECIPERUN_KERNELS_COMMON_ROWSUMS_CUH
#define RECIPERUN_KERNELS_COMMON_ROWSUMS_CUH

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaTypes.cuh"

#include <algorithm>

namespace reciperun::kernels {

/// The number of pieces in which rows are summed: `wanted`, unless the scratch
/// cannot hold that many partial sums.
inline int64_t rowPieces(int64_t wanted, int64_t width) {
  const int64_t room = device::CudaContext::scratchCapacity<float>() / width;
  return std::max<int64_t>(1, std::min(wanted, room));
}

namespace rows {

inline constexpr int tile = 32;

/// A block processes 32 columns. Thread (x, y) sums pieces y, y + 32, ... of
/// column x; then one warp reduces each column.
template <class G>
__global__ void __launch_bounds__(tile* tile)
    addPieces(int64_t pieces, int64_t width, const float* partial, G* total) {
  __shared__ float sums[tile][tile + 1];
  const int64_t column = int64_t(blockIdx.x) * tile + threadIdx.x;
  float sum = 0;
  constexpr int atOnce = 8; // loads in flight
  if (column < width)
    for (int64_t first = threadIdx.y; first < pieces; first += tile * atOnce) {
      float values[atOnce];
#pragma unroll
      for (int i = 0; i < atOnce; ++i) {
        const int64_t piece = first + i * tile;
        values[i] = piece < pieces ? partial[piece * width + column] : 0;
      }
#pragma unroll
      for (int i = 0; i < atOnce; ++i)
        sum += values[i];
    }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  const float whole = acrossLanes(sums[threadIdx.x][threadIdx.y], tile, Plus());
  const int64_t mine = int64_t(blockIdx.x) * tile + threadIdx.y;
  if (threadIdx.x == 0 && mine < width)
    total[mine] = rounded<G>(float(total[mine]) + whole);
}

} // namespace rows

/// total[j] += the sum of column j of `partial`, rounded once.
inline void addPieces(const device::CudaKernelArgs& args, int64_t pieces,
                      const float* partial, const device::Tensor& total) {
  const int64_t width = total.elements();
  withStoredType(total.type, [&]<class G>(DeviceType<G>) {
    rows::addPieces<<<unsigned(ceilDivide(width, rows::tile)),
                      dim3(rows::tile, rows::tile), 0, args.context.stream()>>>(
        pieces, width, partial, total.as<G>());
  });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWSUMS_CUH
