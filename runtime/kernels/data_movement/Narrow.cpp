// A slice of a dimension: y [..., m, ...] = x [..., begin to begin + m, ...],
// and its transpose, which pads the slice with zeros.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/data_movement/RowBytes.h"

#include <cstddef>
#include <cstring>

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status narrowKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowBytes at(args.op.attributes, x, y);
  device::parallelFor(
      args.context.threads(), at.rows, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(y.as<std::byte>() + i * at.run,
                      x.as<std::byte>() + i * at.whole + at.start,
                      size_t(at.run));
      });
  return Status::ok();
}

Status padKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowBytes at(args.op.attributes, y, x);
  const int64_t behind = at.whole - at.start - at.run;
  device::parallelFor(
      args.context.threads(), at.rows, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::byte* row = y.as<std::byte>() + i * at.whole;
          // A zero of any type has only zero bytes.
          std::memset(row, 0, size_t(at.start));
          std::memcpy(row + at.start, x.as<std::byte>() + i * at.run,
                      size_t(at.run));
          std::memset(row + at.start + at.run, 0, size_t(behind));
        }
      });
  return Status::ok();
}

} // namespace reciperun::kernels
