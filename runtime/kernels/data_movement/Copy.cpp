// y = x between the device's memory and the host's.
//
// On a CPU the kernel can access both, and copy_begin completes the copy.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"

#include <cassert>
#include <cstddef>
#include <cstring>

namespace reciperun::kernels {

Status copyBeginKernel(const device::KernelArgs& args) {
  constexpr int64_t grain = 1 << 16; // bytes
  const device::Tensor &x = args.inputs[0], &y = args.outputs[0];
  assert(x.bytes() == y.bytes() && "a copy keeps the size");
  device::parallelFor(args.context.threads(), y.bytes(), grain,
                      [&](int64_t begin, int64_t end) {
                        std::memcpy(y.as<std::byte>() + begin,
                                    x.as<std::byte>() + begin,
                                    size_t(end - begin));
                      });
  return Status::ok();
}

Status copyEndKernel(const device::KernelArgs&) {
  return Status::ok();
}

} // namespace reciperun::kernels
