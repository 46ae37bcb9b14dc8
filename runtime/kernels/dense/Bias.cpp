// y = x + b for each token. The gradient of b is the sum of dy over the tokens.
// The gradient of x is dy, so it needs no op.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/RowSums.h"
#include "runtime/kernels/common/Types.h"

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status addBiasKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const int64_t width = b.elements();
  return withType(args, x.type, [&]<class T>(Type<T>) {
    const T *from = x.as<T>(), *bias = b.as<T>();
    T* to = y.as<T>();
    device::parallelFor(
        args.context.threads(), x.elements() / width, 16,
        [=](int64_t begin, int64_t end) {
          for (int64_t i = begin * width; i < end * width; i += width) {
#pragma omp simd
            for (int64_t j = 0; j < width; ++j)
              to[i + j] = T(Math<T>(from[i + j]) + Math<T>(bias[j]));
          }
        });
  });
}

Status biasBackwardKernel(const KernelArgs& args) {
  const Tensor &dy = args.inputs[0], &db = args.outputs[0];
  const int64_t width = db.elements();
  return withType(args, dy.type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    M* partial = args.context.scratch<M>(0, rowPieces * width);
    forRows(dy.elements() / width, width, partial, args.context.threads(),
            [&](int64_t row, M* sum) {
              const T* from = dy.as<T>() + row * width;
#pragma omp simd
              for (int64_t j = 0; j < width; ++j)
                sum[j] += M(from[j]);
            });
    addPieces(args, partial, db);
  });
}

} // namespace reciperun::kernels
