// Elementwise ops and dropout: all operands have the same size.

#include "runtime/ops/ActivationOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Checks that all operands have the same type and size.
bool checkElementwise(OpCheck& c) {
  if (!c.is(c.in(0), real))
    return false;
  for (size_t i = 1; i < c.op.inputs.size(); ++i)
    if (!c.same(c.in(0), c.in(i)))
      return false;
  for (size_t i = 0; i < c.op.outputs.size(); ++i)
    if (!c.same(c.in(0), c.out(i)))
      return false;
  return true;
}

bool checkDropout(OpCheck& c) {
  if (!c.same(c.in(0), c.out(0)))
    return false;
  const Buffer& x = c.in(0);
  if (x.shape.size() < 2)
    return c.fail("wants samples and tokens in `" + x.name + "`, which is " +
                  shapeText(x));
  const ops::DropoutAttributes attributes(c.op.attributes);
  const std::vector<std::string>& axes = attributes.axes;
  if (!axes.empty() && axes.size() != x.shape.size())
    return c.fail("has " + std::to_string(axes.size()) + " `axes` for " +
                  std::to_string(x.shape.size()) + " dimensions");
  for (const std::string& axis : axes)
    if (!c.axis(axis))
      return false;
  double p = attributes.p;
  return c.is(x, real) && c.is(c.in(1), {DType::i64}) &&
         c.counts(c.in(1), x.shape[0]) && c.is(c.in(2), {DType::i32}) &&
         c.counts(c.in(2), x.shape[0] * x.shape[1]) &&
         ((p >= 0 && p < 1) || c.fail("has `p` outside [0, 1)"));
}

} // namespace

bool checkActivationOp(OpCheck& c) {
  switch (ops::ActivationOp(c.op.kind)) {
  case ops::ActivationOp::Silu:
  case ops::ActivationOp::SiluBackward:
  case ops::ActivationOp::Gelu:
  case ops::ActivationOp::GeluBackward:
  case ops::ActivationOp::Relu2:
  case ops::ActivationOp::Relu2Backward:
  case ops::ActivationOp::Sigmoid:
  case ops::ActivationOp::SigmoidBackward:
  case ops::ActivationOp::Softcap:
  case ops::ActivationOp::SoftcapBackward:
  case ops::ActivationOp::Swiglu:
  case ops::ActivationOp::SwigluBackward:
  case ops::ActivationOp::Mul:
  case ops::ActivationOp::Add:
  case ops::ActivationOp::Scale:
    return checkElementwise(c);
  case ops::ActivationOp::Dropout:
    return checkDropout(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
