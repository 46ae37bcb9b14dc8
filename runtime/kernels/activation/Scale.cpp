// y = alpha x. The gradient is a scale of dy by the same alpha.

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/ActivationOps.h"

namespace reciperun::kernels {

Status scaleKernel(const device::KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    const Math<T> alpha =
        Math<T>(ops::ScaleAttributes(args.op.attributes).alpha);
    mapElements<T>(args, args.inputs[0], args.outputs[0],
                   [alpha](Math<T> x) { return alpha * x; });
  });
}

} // namespace reciperun::kernels
