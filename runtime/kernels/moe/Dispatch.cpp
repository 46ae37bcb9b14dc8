// Sorts tokens by expert, keeping their order, and the way back.
//
//   1. Count the choices of each expert, ignoring negative choices. The experts
//      of a group are consecutive, from the group's first row on.
//   2. A choice of expert e takes the next row of e.
//   3. Copy each token to its rows, times its gates if present.
// Backward: dx is the sum over the token's rows, and dgates are dot products of
// rows.

#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/moe/ExpertRows.h"

#include <numeric>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

template <class M> const M* optional(const Tensor& tensor) {
  return tensor.present() ? tensor.as<M>() : nullptr;
}

/// Step 1. Fails if a group needs more rows than the plan has, so that a choice
/// of the router is never lost silently.
Status countRows(const KernelArgs& args, const Tensor& choices,
                 const Tensor& counts, int64_t places) {
  const int64_t experts = counts.elements(), members = counts.shape[2];
  int32_t* count = counts.as<int32_t>();
  std::fill_n(count, experts, 0);
  for (int64_t i = 0; i < choices.elements(); ++i) {
    const int32_t expert = choices.as<int32_t>()[i];
    if (expert >= experts)
      return Status::error("op `" + args.op.name + "`: a token chose expert " +
                           std::to_string(expert) + " of " +
                           std::to_string(experts));
    if (expert >= 0)
      ++count[expert];
  }
  for (int64_t first = 0; first < experts; first += members) {
    const int64_t rows =
        std::accumulate(count + first, count + first + members, int64_t(0));
    if (rows > places)
      return Status::error("op `" + args.op.name + "`: the experts from " +
                           std::to_string(first) + " on get " +
                           std::to_string(rows) + " tokens, and have " +
                           std::to_string(places) + " places");
  }
  return Status::ok();
}

/// Step 2.
void numberRows(const KernelArgs& args, const Tensor& choices,
                const Tensor& counts, int64_t places, int32_t* rows) {
  const int64_t experts = counts.elements(), members = counts.shape[2];
  auto* next = args.context.scratch<int64_t>(0, size_t(experts));
  for (int64_t e = 0; e < experts; ++e)
    next[e] = e % members == 0 ? e / members * places
                               : next[e - 1] + counts.as<int32_t>()[e - 1];
  for (int64_t i = 0; i < choices.elements(); ++i) {
    const int32_t expert = choices.as<int32_t>()[i];
    rows[i] = expert < 0 ? -1 : int32_t(next[expert]++);
  }
}

} // namespace

Status dispatchKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &gates = args.inputs[2];
  const Tensor &y = args.outputs[0], &rows = args.outputs[1];
  const Tensor& counts = args.outputs[2];
  const int64_t places = y.shape[1];
  Status counted = countRows(args, args.inputs[1], counts, places);
  if (!counted.isOk())
    return counted;
  numberRows(args, args.inputs[1], counts, places, rows.as<int32_t>());
  const ExpertRows experts(rows, x, y);
  return withType(args, x.type, [&]<class T>(Type<T>) {
    scatterToExperts(args, experts, x.as<T>(), optional<Math<T>>(gates),
                     y.as<T>());
  });
}

Status dispatchBackwardKernel(const KernelArgs& args) {
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
