// The gradient of combine's gates, from the rows of experts.
//
// For y = gate (W h), with dh = W^T (gate dy) at the experts:
//   dgate = <dy, W h> = <W^T dy, h> = <dh, h> / gate.
// So the gradient needs no outputs of experts.
//   1. At the experts: the dot product of each row of h and its gradient.
//   2. At the tokens: divide the dot products by the gates. The rows of a gate
//      of 0 have lost <dy, W h>. Its gradient is not needed: a gate of 0 is a
//      softmax or sigmoid whose derivative is 0.

#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/moe/ExpertRows.h"

namespace reciperun::kernels {

using device::KernelArgs;
using device::Tensor;

Status rowDotsKernel(const KernelArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1],
               &dots = args.outputs[0];
  return withType(args, a.type, [&]<class T>(Type<T>) {
    const int64_t rows = dots.elements(), width = a.elements() / rows;
    device::parallelFor(args.context.threads(), rows, tokenGrain,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            dots.as<Math<T>>()[i] =
                                dotOfRows(a.as<T>() + i * width,
                                          b.as<T>() + i * width, width);
                        });
  });
}

Status gatesBackwardKernel(const KernelArgs& args) {
  const Tensor &dots = args.inputs[0], &rows = args.inputs[1],
               &gates = args.inputs[2], &dgates = args.outputs[0];
  const ExpertRows experts(rows, dots, dots);
  return withType(args, gates.type, [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < gates.elements(); ++i) {
      const int64_t row = experts.rowOf(i);
      const auto gate = Math<T>(gates.as<T>()[i]);
      dgates.as<T>()[i] =
          row < 0 || gate == 0 ? T() : T(Math<T>(dots.as<T>()[row]) / gate);
    }
  });
}

} // namespace reciperun::kernels
