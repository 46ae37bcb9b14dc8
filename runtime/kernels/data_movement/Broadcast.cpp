// y [..., over, n] repeats each row of x [..., n] `over` times. The gradient
// sums dy over the copies.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status broadcastKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t width = x.shape.back(), over = y.elements() / x.elements();
  return withType(args, x.type, [&]<class T>(Type<T>) {
    device::parallelFor(args.context.threads(), x.elements() / width, 16,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            for (int64_t j = 0; j < over; ++j)
                              std::copy_n(x.as<T>() + i * width, width,
                                          y.as<T>() + (i * over + j) * width);
                        });
  });
}

Status broadcastBackwardKernel(const KernelArgs& args) {
  const Tensor &dy = args.inputs[0], &dx = args.outputs[0];
  const int64_t width = dx.shape.back(), over = dy.elements() / dx.elements();
  return withType(args, dx.type, [&]<class T>(Type<T>) {
    device::parallelFor(args.context.threads(), dx.elements() / width, 16,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            for (int64_t j = 0; j < width; ++j) {
                              Math<T> sum = 0;
                              for (int64_t k = 0; k < over; ++k)
                                sum += Math<T>(
                                    dy.as<T>()[(i * over + k) * width + j]);
                              dx.as<T>()[i * width + j] = T(sum);
                            }
                        });
  });
}

} // namespace reciperun::kernels
