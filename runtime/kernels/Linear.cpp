// y = alpha x w^T and its gradients, through the context's matrix products.
//
// Operands may group dimensions as they like ([b,s,heads,width] for [tokens,
// heads * width]); the three sizes of the product follow from the elements
// alone: x has t k, w has n k, y has t n, hence t^2 = x y / w.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/kernels/Kernels.h"

#include <cassert>
#include <cmath>

namespace reciperun::kernels {
namespace {

using device::Gemm;
using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

struct LinearSizes {
  int64_t tokens = 0;
  int64_t out = 0; // n
  int64_t in = 0;  // k
};

LinearSizes sizesOf(const Tensor& x, const Tensor& w, const Tensor& y) {
  // x / w = t / n, and t / n times y = t n is t^2: exact in long double, whose
  // mantissa holds 64 bits, up to a rounding that the root halves.
  const long double square =
      (long double)(x.elements()) / w.elements() * y.elements();
  LinearSizes sizes;
  sizes.tokens = std::llround(std::sqrt(square));
  sizes.in = x.elements() / sizes.tokens;
  sizes.out = y.elements() / sizes.tokens;
  assert(sizes.in * sizes.out == w.elements() &&
         "a linear's operands agree in size");
  return sizes;
}

Gemm::Shape shapeOf(const KernelArgs& args, plan::DType input,
                    plan::DType output) {
  Gemm::Shape shape;
  shape.input = input;
  shape.output = output;
  shape.alpha = float(args.op.real("alpha", 1));
  shape.accumulate = args.op.flag("accumulate");
  return shape;
}

Status run(const KernelArgs& args, const Gemm::Shape& shape, const Tensor& a,
           const Tensor& b, const Tensor& c) {
  return args.context.gemm()
      .run(shape, a.data, b.data, c.data)
      .withContext("op `" + args.op.name + "`");
}

} // namespace

template <> Status kernel<OpKind::Linear>(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const LinearSizes sizes = sizesOf(x, w, y);
  Gemm::Shape shape = shapeOf(args, x.type, y.type);
  shape.m = sizes.tokens;
  shape.n = sizes.out;
  shape.k = sizes.in;
  shape.transposeB = true;
  return run(args, shape, x, w, y);
}

template <> Status kernel<OpKind::LinearDgrad>(const KernelArgs& args) {
  const Tensor &dy = args.inputs[0], &w = args.inputs[1], &dx = args.outputs[0];
  const LinearSizes sizes = sizesOf(dx, w, dy);
  Gemm::Shape shape = shapeOf(args, dy.type, dx.type);
  shape.m = sizes.tokens;
  shape.n = sizes.in;
  shape.k = sizes.out;
  return run(args, shape, dy, w, dx);
}

template <> Status kernel<OpKind::LinearWgrad>(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1], &dw = args.outputs[0];
  const LinearSizes sizes = sizesOf(x, dw, dy);
  Gemm::Shape shape = shapeOf(args, x.type, dw.type);
  shape.accumulate = true;
  shape.m = sizes.out;
  shape.n = sizes.in;
  shape.k = sizes.tokens;
  shape.transposeA = true;
  return run(args, shape, dy, x, dw);
}

} // namespace reciperun::kernels
