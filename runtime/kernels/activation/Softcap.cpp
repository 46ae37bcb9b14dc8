// y = c tanh(x / c), which bounds x to (-c, c) (Gemma Team 2024, section 2),
// and its gradient dx = dy (1 - tanh(x / c)^2).

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/HyperbolicTangent.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/ActivationOps.h"

namespace reciperun::kernels {

using device::KernelArgs;

Status softcapKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const M cap = M(ops::SoftcapAttributes(args.op.attributes).cap);
    mapElements<T>(args, args.inputs[0], args.outputs[0],
                   [cap](M x) { return cap * hyperbolicTangent(x / cap); });
  });
}

Status softcapBackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const M cap = M(ops::SoftcapAttributes(args.op.attributes).cap);
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [cap](M dy, M x) {
                     const M t = hyperbolicTangent(x / cap);
                     return dy * (M(1) - t * t);
                   });
  });
}

} // namespace reciperun::kernels
