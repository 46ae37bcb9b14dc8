// Tokens side by side for each expert, in their order, and the way back.
//
// 1. A choice of expert e takes the next row of e; choices that are negative go
//    nowhere.
// 2. Copy each token to its rows, times its gates where there are any.
// Backward: dx is the sum over the token's rows; dgates the products of rows.

#include "runtime/kernels/ExpertRows.h"
#include "runtime/kernels/Kernels.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

template <class M> const M* optional(const Tensor& tensor) {
  return tensor.present() ? tensor.as<M>() : nullptr;
}

/// Step 1. Fails where a layout would need more places than the plan has: a
/// choice that the router sent is never lost silently.
Status numberRows(const KernelArgs& args, const Tensor& indices,
                  const Tensor& y, int32_t* rows) {
  const int64_t experts = y.shape[0], places = y.shape[1];
  auto* used = args.context.scratch<int64_t>(0, size_t(experts));
  std::fill_n(used, experts, 0);
  const int32_t* choices = indices.as<int32_t>();
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int32_t expert = choices[i];
    if (expert < 0) {
      rows[i] = -1;
      continue;
    }
    if (expert >= experts || used[expert] == places)
      return Status::error("op `" + args.op.name + "`: expert " +
                           std::to_string(expert) + " of " +
                           std::to_string(experts) + " gets more than " +
                           std::to_string(places) + " tokens");
    rows[i] = int32_t(expert * places + used[expert]++);
  }
  return Status::ok();
}

} // namespace

template <> Status kernel<OpKind::Dispatch>(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &gates = args.inputs[2];
  const Tensor &y = args.outputs[0], &rows = args.outputs[1];
  Status numbered = numberRows(args, args.inputs[1], y, rows.as<int32_t>());
  if (!numbered)
    return numbered;
  const ExpertRows experts(rows, x, y);
  return withType(args, x.type, [&]<class T>(Type<T>) {
    scatterToExperts(args, experts, x.as<T>(), optional<Math<T>>(gates),
                     y.as<T>());
  });
}

template <> Status kernel<OpKind::DispatchBackward>(const KernelArgs& args) {
  const Tensor &dy = args.inputs[0], &rows = args.inputs[1];
  const Tensor &x = args.inputs[2], &gates = args.inputs[3];
  const Tensor &dx = args.outputs[0], &dgates = args.outputs[1];
  const ExpertRows experts(rows, dx, dy);
  return withType(args, dy.type, [&]<class T>(Type<T>) {
    if (dgates.present())
      gradientOfGates(args, experts, x.as<T>(), dy.as<T>(),
                      dgates.as<Math<T>>());
    gatherFromExperts(args, experts, dy.as<T>(), optional<Math<T>>(gates),
                      dx.as<T>());
  });
}

} // namespace reciperun::kernels
