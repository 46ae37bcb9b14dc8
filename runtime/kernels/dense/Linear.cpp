// y = alpha x w^T and its gradients, through the context's matmuls. Operands
// may group dimensions in any way (LinearSizes.h).

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/dense/LinearSizes.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"

#include <cstring>

namespace reciperun::kernels {
namespace {

using device::Gemm;
using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

/// Whether the op computes a weight gradient. Weight gradients accumulate by
/// default.
bool isGradient(OpKind kind) {
  return kind == OpKind::LinearWgrad || kind == OpKind::LinearJointWgrad;
}

/// Options of a matmul that come from the op's attributes.
struct How {
  float alpha = 1;
  bool isAdded = false;

  explicit How(const KernelArgs& args)
      : alpha(float(ops::LinearAttributes(args.op.attributes).alpha)),
        isAdded(isGradient(args.op.kind)
                    ? ops::LinearWgradAttributes(args.op.attributes).accumulate
                    : ops::LinearAttributes(args.op.attributes).accumulate) {}
  How added() const {
    How how = *this;
    how.isAdded = true;
    return how;
  }
};

Status run(const KernelArgs& args, How how, Gemm::Shape shape, const Tensor& a,
           const Tensor& b, const Tensor& c) {
  shape.input = a.type;
  shape.output = c.type;
  shape.alpha = how.alpha;
  shape.accumulate = how.isAdded;
  return args.context.gemm()
      .run(shape, a.data, b.data, c.data)
      .withContext("op `" + args.op.name + "`");
}

/// y [t,n] = x [t,k] w [n,k]^T.
Status multiply(const KernelArgs& args, How how, const Tensor& x,
                const Tensor& w, const Tensor& y) {
  const LinearSizes sizes = LinearSizes::of(x, w, y);
  Gemm::Shape shape;
  shape.m = sizes.tokens;
  shape.n = sizes.out;
  shape.k = sizes.in;
  shape.transposeB = true;
  return run(args, how, shape, x, w, y);
}

/// dx [t,k] = dy [t,n] w [n,k].
Status multiplyBack(const KernelArgs& args, How how, const Tensor& dy,
                    const Tensor& w, const Tensor& dx) {
  const LinearSizes sizes = LinearSizes::of(dx, w, dy);
  Gemm::Shape shape;
  shape.m = sizes.tokens;
  shape.n = sizes.in;
  shape.k = sizes.out;
  return run(args, how, shape, dy, w, dx);
}

/// dw [n,k] += dy [t,n]^T x [t,k].
Status addToWeight(const KernelArgs& args, const Tensor& x, const Tensor& dy,
                   const Tensor& dw) {
  const LinearSizes sizes = LinearSizes::of(x, dw, dy);
  Gemm::Shape shape;
  shape.m = sizes.out;
  shape.n = sizes.in;
  shape.k = sizes.tokens;
  shape.transposeA = true;
  return run(args, How(args), shape, dy, x, dw);
}

constexpr size_t jointMatmuls = 3; // the last of which may be absent

} // namespace

Status linearKernel(const KernelArgs& args) {
  return multiply(args, How(args), args.inputs[0], args.inputs[1],
                  args.outputs[0]);
}

Status linearDgradKernel(const KernelArgs& args) {
  return multiplyBack(args, How(args), args.inputs[0], args.inputs[1],
                      args.outputs[0]);
}

Status linearWgradKernel(const KernelArgs& args) {
  return addToWeight(args, args.inputs[0], args.inputs[1], args.outputs[0]);
}

Status linearAddKernel(const KernelArgs& args) {
  const Tensor &c = args.inputs[2], &y = args.outputs[0];
  if (y.data != c.data)
    std::memcpy(y.data, c.data, size_t(c.bytes()));
  return multiply(args, How(args).added(), args.inputs[0], args.inputs[1], y);
}

Status linearJointKernel(const KernelArgs& args) {
  for (size_t i = 0; i < jointMatmuls; ++i)
    if (args.outputs[i].present())
      RECIPERUN_TRY(multiply(args, How(args), args.inputs[0],
                             args.inputs[1 + i], args.outputs[i]));
  return Status::ok();
}

Status linearJointDgradKernel(const KernelArgs& args) {
  How how(args);
  for (size_t i = 0; i < jointMatmuls; ++i) {
    if (!args.inputs[i].present())
      continue;
    RECIPERUN_TRY(multiplyBack(args, how, args.inputs[i],
                               args.inputs[jointMatmuls + i], args.outputs[0]));
    how = how.added();
  }
  return Status::ok();
}

Status linearJointWgradKernel(const KernelArgs& args) {
  for (size_t i = 0; i < jointMatmuls; ++i)
    if (args.outputs[i].present())
      RECIPERUN_TRY(addToWeight(args, args.inputs[0], args.inputs[1 + i],
                                args.outputs[i]));
  return Status::ok();
}

} // namespace reciperun::kernels
