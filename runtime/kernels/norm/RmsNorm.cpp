// y = w x / sqrt(mean(x^2) + eps) for each row (Zhang & Sennrich 2019, eq. 4).
// An absent weight is 1, and a centered weight is stored minus 1. A weight with
// several rows has one for each row of a token.
//
// Backward, with r = 1 / sqrt(mean(x^2) + eps) kept from the forward and h the
// row's length:
//   dx = r w dy - x r^3 / h * sum(w dy x)
//   dw = sum over rows of dy x r
// With `accumulate`, the result is added to dx.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/NormRows.h"
#include "runtime/kernels/common/RowSums.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/kernels/norm/RmsNormRow.h"
#include "runtime/ops/NormOps.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

using rmsnorm::forwardRow;
using rmsnorm::withWeight;

template <bool isAdded, class T, class Weight>
void backwardRow(int64_t width, const T* dy, const T* x, Weight w, Math<T> rstd,
                 T* dx, Math<T>* dw) {
  using M = Math<T>;
  M product = 0;
#pragma omp simd reduction(+ : product)
  for (int64_t j = 0; j < width; ++j)
    product += w(j) * M(dy[j]) * M(x[j]);
  const M pull = product * rstd * rstd * rstd / M(width);
  // Compute dw first: dx may be the buffer of dy.
  if (dw) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      dw[j] += M(dy[j]) * M(x[j]) * rstd;
  }
#pragma omp simd
  for (int64_t j = 0; j < width; ++j) {
    const M slope = rstd * w(j) * M(dy[j]) - M(x[j]) * pull;
    dx[j] = T(isAdded ? M(dx[j]) + slope : slope);
  }
}

template <class T, class Weight>
void rmsnormForward(const KernelArgs& args, Weight w) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  auto* rstd = args.outputs[1].as<Math<T>>();
  const NormRows rows(x, args.inputs[1]);
  const double eps = ops::RmsNormAttributes(args.op.attributes).eps;
  device::parallelFor(
      args.context.threads(), rows.tokens, 1, [&](int64_t begin, int64_t end) {
        rows.of(begin, end, [&](int64_t row, int64_t j) {
          const int64_t first = row * rows.width;
          rstd[row] = forwardRow(rows.width, eps, x.as<T>() + first, w.from(j),
                                 y.as<T>() + first);
        });
      });
}

template <bool isAdded, class T, class Weight>
void rmsnormBackward(const KernelArgs& args, Weight w) {
  using M = Math<T>;
  const Tensor &dy = args.inputs[0], &x = args.inputs[1];
  const M* rstd = args.inputs[3].as<M>();
  const Tensor &dx = args.outputs[0], &dw = args.outputs[1];
  const NormRows rows(x, args.inputs[2]);
  const int64_t size = rows.perToken * rows.width;
  M* partial =
      dw.present() ? args.context.scratch<M>(0, rowPieces * size) : nullptr;
  forRows(rows.tokens, size, partial, args.context.threads(),
          [&](int64_t token, M* sum) {
            rows.of(token, token + 1, [&](int64_t row, int64_t j) {
              const int64_t first = row * rows.width;
              backwardRow<isAdded>(rows.width, dy.as<T>() + first,
                                   x.as<T>() + first, w.from(j), rstd[row],
                                   dx.as<T>() + first, sum ? sum + j : nullptr);
            });
          });
  if (partial)
    addPieces(args, partial, dw);
}

} // namespace

Status rmsnormKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type, [&]<class T>(Type<T>) {
    withWeight<T>(args, args.inputs[1],
                  [&](auto w) { rmsnormForward<T>(args, w); });
  });
}

Status rmsnormBackwardKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type, [&]<class T>(Type<T>) {
    withWeight<T>(args, args.inputs[2], [&](auto w) {
      if (ops::RmsNormBackwardAttributes(args.op.attributes).accumulate)
        rmsnormBackward<true, T>(args, w);
      else
        rmsnormBackward<false, T>(args, w);
    });
  });
}

} // namespace reciperun::kernels
