// y = 0, of any type.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"

#include <cstddef>
#include <cstring>

namespace reciperun::kernels {

Status zeroKernel(const device::KernelArgs& args) {
  constexpr int64_t grain = 1 << 16; // bytes
  for (const device::Tensor& y : args.outputs)
    device::parallelFor(args.context.threads(), y.bytes(), grain,
                        [&](int64_t begin, int64_t end) {
                          std::memset(y.as<std::byte>() + begin, 0,
                                      size_t(end - begin));
                        });
  return Status::ok();
}

} // namespace reciperun::kernels
