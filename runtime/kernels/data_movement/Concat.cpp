// y [..., m + n]: each row of a [..., m] followed by the row of b [..., n]. The
// gradients of a and b are slices of the gradient of y.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"

#include <cstddef>
#include <cstring>

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status concatKernel(const KernelArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const int64_t rows = y.elements() / y.shape.back();
  const int64_t first = a.bytes() / rows, second = b.bytes() / rows;
  device::parallelFor(
      args.context.threads(), rows, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::byte* row = y.as<std::byte>() + i * (first + second);
          std::memcpy(row, a.as<std::byte>() + i * first, size_t(first));
          std::memcpy(row + first, b.as<std::byte>() + i * second,
                      size_t(second));
        }
      });
  return Status::ok();
}

} // namespace reciperun::kernels
