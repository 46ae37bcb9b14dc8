// y = max(x, 0)^2 (So et al. 2021, section 3) and its gradient dx = 2 dy max(x,
// 0).

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {

using device::KernelArgs;

Status relu2Kernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    // Compare instead of max, so that NaN stays NaN.
    mapElements<T>(args, args.inputs[0], args.outputs[0],
                   [](M x) { return x < M(0) ? M(0) : x * x; });
  });
}

Status relu2BackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [](M dy, M x) { return x < M(0) ? M(0) : M(2) * dy * x; });
  });
}

} // namespace reciperun::kernels
