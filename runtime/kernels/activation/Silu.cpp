// y = x sigmoid(x) (Elfwing et al. 2018) and its gradient dx = dy s (1 + x (1 -
// s)) with s = sigmoid(x).

#include "runtime/kernels/activation/Silu.h"

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {

using device::KernelArgs;

Status siluKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    mapElements<T>(args, args.inputs[0], args.outputs[0],
                   [](Math<T> x) { return silu(x); });
  });
}

Status siluBackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [](Math<T> dy, Math<T> x) { return dy * siluSlope(x); });
  });
}

} // namespace reciperun::kernels
