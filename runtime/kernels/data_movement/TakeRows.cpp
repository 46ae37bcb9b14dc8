// y[0,i] = x[0,rows[i]], and zeros for row -1.

#include "runtime/kernels/common/Kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace reciperun::kernels {

Status takeRowsKernel(const device::KernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &rows = args.inputs[1],
                       &y = args.outputs[0];
  const int64_t count = x.shape[1], taken = y.shape[1];
  if (taken == 0)
    return Status::ok();
  const int64_t bytes = y.bytes() / taken;
  for (int64_t i = 0; i < taken; ++i) {
    const int64_t row = rows.as<int32_t>()[i];
    std::byte* const to = y.as<std::byte>() + i * bytes;
    if (row >= count)
      return Status::error("op `" + args.op.name + "`: row " +
                           std::to_string(row) + " lies outside of the " +
                           std::to_string(count) + " rows of its operand");
    // A zero of any type has only zero bytes.
    if (row < 0)
      std::memset(to, 0, size_t(bytes));
    else
      std::memcpy(to, x.as<std::byte>() + row * bytes, size_t(bytes));
  }
  return Status::ok();
}

} // namespace reciperun::kernels
