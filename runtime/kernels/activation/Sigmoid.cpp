// y = 1 / (1 + exp(-x)) and its gradient dx = dy y (1 - y).

#include "runtime/kernels/activation/Silu.h"
#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {

using device::KernelArgs;

Status sigmoidKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    mapElements<T>(args, args.inputs[0], args.outputs[0],
                   [](Math<T> x) { return sigmoid(x); });
  });
}

Status sigmoidBackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [](M dy, M x) {
                     const M y = sigmoid(x);
                     return dy * y * (M(1) - y);
                   });
  });
}

} // namespace reciperun::kernels
