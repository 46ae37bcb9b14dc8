// y = w x / sqrt(mean(x^2) + eps), row by row (Zhang & Sennrich 2019, eq. 4).
//
// Backward, with r = 1 / sqrt(mean(x^2) + eps) kept from the forward and h the
// row's length:
//   dx = r w dy - x r^3 / h * sum(w dy x)
//   dw = sum over rows of dy x r
// The sum over rows is taken in a fixed number of pieces that are then added in
// order, so that the threads do not change it.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/Kernels.h"
#include "runtime/kernels/Types.h"

#include <algorithm>
#include <cmath>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

constexpr int64_t pieces = 32;

template <class T>
void forwardRow(int64_t width, double eps, const T* x, const T* w, T* y,
                Math<T>& rstd) {
  using M = Math<T>;
  M squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < width; ++j)
    squares += M(x[j]) * M(x[j]);
  const M r = M(1) / std::sqrt(squares / M(width) + M(eps));
  rstd = r;
#pragma omp simd
  for (int64_t j = 0; j < width; ++j)
    y[j] = T(M(x[j]) * r * M(w[j]));
}

template <class T>
void backwardRow(int64_t width, const T* dy, const T* x, const T* w,
                 Math<T> rstd, T* dx, Math<T>* dw) {
  using M = Math<T>;
  M product = 0;
#pragma omp simd reduction(+ : product)
  for (int64_t j = 0; j < width; ++j)
    product += M(w[j]) * M(dy[j]) * M(x[j]);
  const M pull = product * rstd * rstd * rstd / M(width);
  // First dw: dx may be the buffer of dy.
  if (dw) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      dw[j] += M(dy[j]) * M(x[j]) * rstd;
  }
#pragma omp simd
  for (int64_t j = 0; j < width; ++j)
    dx[j] = T(rstd * M(w[j]) * M(dy[j]) - M(x[j]) * pull);
}

/// dw[j] += the sum of column j of `partial` [pieces, width], rounded once.
template <class M, class G>
void addPieces(int64_t width, const M* partial, G* dw, int threads) {
  constexpr int64_t grain = 256;
  device::parallelFor(threads, width, grain, [&](int64_t begin, int64_t end) {
    for (int64_t left = begin; left < end; left += grain) {
      const int64_t count = std::min(grain, end - left);
      M sum[grain];
      for (int64_t j = 0; j < count; ++j)
        sum[j] = M(dw[left + j]);
      for (int64_t piece = 0; piece < pieces; ++piece) {
#pragma omp simd
        for (int64_t j = 0; j < count; ++j)
          sum[j] += partial[piece * width + left + j];
      }
      for (int64_t j = 0; j < count; ++j)
        dw[left + j] = G(sum[j]);
    }
  });
}

template <class T> void backward(const KernelArgs& args) {
  using M = Math<T>;
  const Tensor &dy = args.inputs[0], &x = args.inputs[1], &w = args.inputs[2];
  const M* rstd = args.inputs[3].as<M>();
  const Tensor &dx = args.outputs[0], &dw = args.outputs[1];
  const int64_t width = w.elements();
  const int64_t rows = x.elements() / width;
  const int threads = args.context.threads();
  M* partial =
      dw.present() ? args.context.scratch<M>(0, pieces * width) : nullptr;
  device::parallelFor(threads, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      M* sum = partial ? partial + piece * width : nullptr;
      if (sum)
        std::fill_n(sum, width, M(0));
      const int64_t last = rows * (piece + 1) / pieces;
      for (int64_t i = rows * piece / pieces; i < last; ++i)
        backwardRow(width, dy.as<T>() + i * width, x.as<T>() + i * width,
                    w.as<T>(), rstd[i], dx.as<T>() + i * width, sum);
    }
  });
  if (partial)
    withStored<M>(dw.type, [&]<class G>(Type<G>) {
      addPieces(width, partial, dw.as<G>(), threads);
    });
}

} // namespace

template <> Status kernel<OpKind::RmsNorm>(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1];
  const Tensor &y = args.outputs[0], &rstd = args.outputs[1];
  const int64_t width = w.elements();
  const double eps = args.op.real("eps");
  return withType(args, x.type, [&]<class T>(Type<T>) {
    device::parallelFor(args.context.threads(), x.elements() / width, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            forwardRow(width, eps, x.as<T>() + i * width,
                                       w.as<T>(), y.as<T>() + i * width,
                                       rstd.as<Math<T>>()[i]);
                        });
  });
}

template <> Status kernel<OpKind::RmsNormBackward>(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { backward<T>(args); });
}

} // namespace reciperun::kernels
