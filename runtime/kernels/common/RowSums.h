// Column sums of a matrix: the gradients of norm weights and of biases. The
// rows are summed in a fixed number of pieces that are then added in order, so
// the number of threads does not change the sums.

#ifndef RECIPERUN_KERNELS_COMMON_ROWSUMS_H
#define RECIPERUN_KERNELS_COMMON_ROWSUMS_H

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>
#include <cstdint>

namespace reciperun::kernels {

/// The number of pieces.
inline constexpr int64_t rowPieces = 32;

/// Calls body(row, sum) for each row. `sum` [width] is the sum of the row's
/// piece, initially zero; it is null if `partial` [rowPieces, width] is null.
template <class M, class Body>
void forRows(int64_t rows, int64_t width, M* partial, int threads, Body body) {
  device::parallelFor(threads, rowPieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      M* sum = partial ? partial + piece * width : nullptr;
      if (sum)
        std::fill_n(sum, width, M(0));
      const int64_t last = rows * (piece + 1) / rowPieces;
      for (int64_t i = rows * piece / rowPieces; i < last; ++i)
        body(i, sum);
    }
  });
}

/// total[j] += the sum of column j of `partial` [rowPieces, width], rounded
/// once.
template <class M, class G>
void addPieces(int64_t width, const M* partial, G* total, int threads) {
  constexpr int64_t grain = 256;
  device::parallelFor(threads, width, grain, [&](int64_t begin, int64_t end) {
    for (int64_t left = begin; left < end; left += grain) {
      const int64_t count = std::min(grain, end - left);
      M sum[grain];
      for (int64_t j = 0; j < count; ++j)
        sum[j] = M(total[left + j]);
      for (int64_t piece = 0; piece < rowPieces; ++piece) {
#pragma omp simd
        for (int64_t j = 0; j < count; ++j)
          sum[j] += partial[piece * width + left + j];
      }
      for (int64_t j = 0; j < count; ++j)
        total[left + j] = G(sum[j]);
    }
  });
}

/// Adds into a gradient of any type that may hold it.
template <class M>
void addPieces(const device::KernelArgs& args, const M* partial,
               const device::Tensor& total) {
  withStored<M>(total.type, [&]<class G>(Type<G>) {
    addPieces(total.elements(), partial, total.as<G>(), args.context.threads());
  });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWSUMS_H
