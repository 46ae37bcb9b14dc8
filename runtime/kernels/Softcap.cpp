// y = c tanh(x / c), which keeps x between -c and c (Gemma Team 2024, section
// 2); its gradient dx = dy (1 - tanh(x / c)^2).

#include "runtime/kernels/Elementwise.h"
#include "runtime/kernels/HyperbolicTangent.h"
#include "runtime/kernels/Kernels.h"

namespace reciperun::kernels {

using device::KernelArgs;
using plan::OpKind;

template <> Status kernel<OpKind::Softcap>(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const M cap = M(args.op.real("cap"));
    mapElements<T>(args, args.inputs[0], args.outputs[0],
                   [cap](M x) { return cap * hyperbolicTangent(x / cap); });
  });
}

template <> Status kernel<OpKind::SoftcapBackward>(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const M cap = M(args.op.real("cap"));
    mapElements<T>(args, args.inputs[0], args.inputs[1], args.outputs[0],
                   [cap](M dy, M x) {
                     const M t = hyperbolicTangent(x / cap);
                     return dy * (M(1) - t * t);
                   });
  });
}

} // namespace reciperun::kernels
