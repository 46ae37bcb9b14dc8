// Products of dense weights, one or several of an operand at a time. See
// ValidateOps.cpp.

#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// `narrow` has k elements a row, `across` n, `matrix` is [n,k].
bool checkLinear(OpCheck& c, const Buffer& narrow, const Buffer& across,
                 const Buffer& matrix) {
  if (!c.rank(matrix, 2))
    return false;
  int64_t n = matrix.shape[0], k = matrix.shape[1];
  return c.divides(k, elementCount(narrow.shape), "the width of the input") &&
         c.counts(across, elementCount(narrow.shape) / k, n);
}

/// The second and, where it is there, the third product of one x, or of one
/// gradient dx, like the first: input or output `dy` + i, and `w` + i.
bool checkJoint(OpCheck& c, const Buffer& x, bool isBackward) {
  auto isNarrow = [&](const Buffer& y, const Buffer& w) {
    return c.is(y, {x.dtype}) && c.is(w, {x.dtype}) && checkLinear(c, x, y, w);
  };
  if (!c.is(x, real))
    return false;
  for (size_t i = 0; i < 3; ++i) {
    const size_t w = isBackward ? 3 + i : 1 + i;
    const bool isThere = isBackward ? c.hasIn(i) : c.hasOut(i);
    if (isThere != c.hasIn(w))
      return c.fail("has a product without a weight or a weight without one");
    if (isThere && !isNarrow(isBackward ? c.in(i) : c.out(i), c.in(w)))
      return false;
  }
  return true;
}

/// x, then two or three gradients of products of it; their weights' gradients.
bool checkJointWgrad(OpCheck& c) {
  if (!c.arity(4, 3, 1, {3}) || !c.is(c.in(0), real))
    return false;
  for (size_t i = 0; i < 3; ++i) {
    if (c.hasIn(1 + i) != c.hasOut(i))
      return c.fail("has a product without a gradient or a gradient without "
                    "one");
    if (c.hasOut(i) && !(c.is(c.in(1 + i), {c.in(0).dtype}) &&
                         c.isGradient(c.out(i), c.in(0)) &&
                         checkLinear(c, c.in(0), c.in(1 + i), c.out(i))))
      return false;
  }
  return true;
}

} // namespace

bool checkLinearOp(OpCheck& c) {
  switch (c.op.kind) {
  case OpKind::Linear:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case OpKind::LinearDgrad:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.out(0), c.in(0), c.in(1));
  case OpKind::LinearWgrad:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.isGradient(c.out(0), c.in(0)) &&
           checkLinear(c, c.in(0), c.in(1), c.out(0));
  case OpKind::LinearAdd:
    return c.arity(3, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           c.same(c.out(0), c.in(2)) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case OpKind::LinearJoint:
    return c.arity(4, 3, 1, {3}) && checkJoint(c, c.in(0), false);
  case OpKind::LinearJointDgrad:
    return c.arity(6, 1, 0, {2, 5}) && checkJoint(c, c.out(0), true);
  case OpKind::LinearJointWgrad:
    return checkJointWgrad(c);
  default:
    return c.fail("is no dense product");
  }
}

} // namespace reciperun::plan
