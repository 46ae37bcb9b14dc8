// Sums the experts' outputs for each token: the transpose of dispatch.
//
// Backward: each row gets its token's gradient times its gate, and rows that no
// token uses get 0. dgates are the dot products of a token's gradient and its
// rows.

#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/moe/ExpertRows.h"

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status combineKernel(const KernelArgs& args) {
  const Tensor &y = args.inputs[0], &rows = args.inputs[1];
  const Tensor &gates = args.inputs[2], &out = args.outputs[0];
  const ExpertRows experts(rows, out, y);
  return withType(args, y.type, [&]<class T>(Type<T>) {
    gatherFromExperts(args, experts, y.as<T>(),
                      gates.present() ? gates.as<Math<T>>() : nullptr,
                      out.as<T>());
  });
}

Status combineBackwardKernel(const KernelArgs& args) {
  const Tensor &dout = args.inputs[0], &rows = args.inputs[1];
  const Tensor &y = args.inputs[2], &gates = args.inputs[3];
  const Tensor &dy = args.outputs[0], &dgates = args.outputs[1];
  const ExpertRows experts(rows, dout, dy);
  return withType(args, dout.type, [&]<class T>(Type<T>) {
    if (dgates.present())
      gradientOfGates(args, experts, dout.as<T>(), y.as<T>(),
                      dgates.as<Math<T>>());
    scatterToExperts(args, experts, dout.as<T>(),
                     gates.present() ? gates.as<Math<T>>() : nullptr,
                     dy.as<T>());
  });
}

} // namespace reciperun::kernels
