// y = a * b, elementwise. Each gradient is a mul of dy by the other factor.

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

namespace reciperun::kernels {

Status mulKernel(const device::KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [](Math<T> a, Math<T> b) { return a * b; });
  });
}

} // namespace reciperun::kernels
