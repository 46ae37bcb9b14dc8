// y = w (x - m) r for each row (Ba et al. 2016, eq. 4), with the mean m of a
// row and r = 1 / sqrt(its variance + eps). A centered weight is stored minus
// 1. A weight with several rows has one for each row of a token.
//
// Backward, with n = (x - m) r and h the row's length:
//   dx = r (w dy - mean(w dy) - n mean(w dy n))
//   dw = sum over rows of dy n

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/NormRows.h"
#include "runtime/kernels/common/RowSums.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/NormOps.h"

#include <cmath>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// The statistics of a row that the backward needs.
template <class M> struct Row { M mean, rstd; };

/// Uses two passes: squares of the differences from the mean lose no digits to
/// cancellation.
template <class T>
Row<Math<T>> forwardRow(int64_t width, double eps, Math<T> first, const T* x,
                        const T* w, T* y) {
  using M = Math<T>;
  M sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < width; ++j)
    sum += M(x[j]);
  const M mean = sum / M(width);
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < width; ++j)
    squares += (M(x[j]) - mean) * (M(x[j]) - mean);
  const M rstd = M(1) / std::sqrt(squares / M(width) + M(eps));
#pragma omp simd
  for (int64_t j = 0; j < width; ++j)
    y[j] = T((M(x[j]) - mean) * rstd * (first + M(w[j])));
  return {mean, rstd};
}

template <bool isAdded, class T>
void backwardRow(int64_t width, Math<T> first, const T* dy, const T* x,
                 const T* w, Row<Math<T>> row, T* dx, Math<T>* dw) {
  using M = Math<T>;
  M sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (int64_t j = 0; j < width; ++j) {
    const M pulled = (first + M(w[j])) * M(dy[j]);
    sum += pulled;
    product += pulled * (M(x[j]) - row.mean) * row.rstd;
  }
  const M level = sum / M(width), tilt = product / M(width);
  // Compute dw first: dx may be the buffer of dy.
  if (dw) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      dw[j] += M(dy[j]) * (M(x[j]) - row.mean) * row.rstd;
  }
#pragma omp simd
  for (int64_t j = 0; j < width; ++j) {
    const M slope = row.rstd * ((first + M(w[j])) * M(dy[j]) - level -
                                (M(x[j]) - row.mean) * row.rstd * tilt);
    dx[j] = T(isAdded ? M(dx[j]) + slope : slope);
  }
}

/// The value that is added to a stored weight.
template <class M> M firstOf(const KernelArgs& args) {
  return ops::LayerNormAttributes(args.op.attributes).centered ? M(1) : M(0);
}

template <class T> void layernormForward(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const NormRows rows(x, w);
  const double eps = ops::LayerNormAttributes(args.op.attributes).eps;
  const auto first = firstOf<Math<T>>(args);
  auto* means = args.outputs[1].as<Math<T>>();
  auto* rstds = args.outputs[2].as<Math<T>>();
  device::parallelFor(
      args.context.threads(), rows.tokens, 1, [&](int64_t begin, int64_t end) {
        rows.of(begin, end, [&](int64_t row, int64_t j) {
          const int64_t at = row * rows.width;
          const auto kept =
              forwardRow<T>(rows.width, eps, first, x.as<T>() + at,
                            w.as<T>() + j, y.as<T>() + at);
          means[row] = kept.mean;
          rstds[row] = kept.rstd;
        });
      });
}

template <bool isAdded, class T>
void layernormBackward(const KernelArgs& args) {
  using M = Math<T>;
  const Tensor &dy = args.inputs[0], &x = args.inputs[1], &w = args.inputs[2];
  const M *means = args.inputs[3].as<M>(), *rstds = args.inputs[4].as<M>();
  const Tensor &dx = args.outputs[0], &dw = args.outputs[1];
  const NormRows rows(x, w);
  const int64_t size = rows.perToken * rows.width;
  const M first = firstOf<M>(args);
  M* partial =
      dw.present() ? args.context.scratch<M>(0, rowPieces * size) : nullptr;
  forRows(rows.tokens, size, partial, args.context.threads(),
          [&](int64_t token, M* sum) {
            rows.of(token, token + 1, [&](int64_t row, int64_t j) {
              const int64_t at = row * rows.width;
              backwardRow<isAdded, T>(rows.width, first, dy.as<T>() + at,
                                      x.as<T>() + at, w.as<T>() + j,
                                      {means[row], rstds[row]}, dx.as<T>() + at,
                                      sum ? sum + j : nullptr);
            });
          });
  if (partial)
    addPieces(args, partial, dw);
}

} // namespace

Status layernormKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { layernormForward<T>(args); });
}

Status layernormBackwardKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type, [&]<class T>(Type<T>) {
    if (ops::LayerNormBackwardAttributes(args.op.attributes).accumulate)
      layernormBackward<true, T>(args);
    else
      layernormBackward<false, T>(args);
  });
}

} // namespace reciperun::kernels
