// The loss: what is known of the logits of each place, and the sum of what
// places lose. See ValidateOps.cpp.

#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

bool checkSoftmaxMax(OpCheck& c) {
  return c.arity(1, 1) && c.is(c.in(0), real) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), rowsOf(c.in(0)));
}

bool checkSoftmaxSum(OpCheck& c) {
  if (!c.arity(3, 1))
    return false;
  int64_t places = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {DType::i32}) &&
         c.counts(c.in(2), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), 2 * places) && c.axis(c.op.string("axis"));
}

bool checkSoftmaxStats(OpCheck& c) {
  if (!c.arity(2, 2))
    return false;
  int64_t places = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), places) && c.isMath(c.out(1), c.in(0)) &&
         c.counts(c.out(1), 2 * places);
}

bool checkNll(OpCheck& c) {
  if (!c.arity(4, 1))
    return false;
  int64_t places = elementCount(c.in(0).shape);
  return c.is(c.in(0), wide) && c.is(c.in(1), {c.in(0).dtype}) &&
         c.counts(c.in(1), 2 * places) && c.is(c.in(2), {DType::f32}) &&
         c.counts(c.in(2), places) && c.is(c.in(3), {DType::f32}) &&
         c.counts(c.in(3), 1) && c.is(c.out(0), {DType::f64}) &&
         c.counts(c.out(0), 1);
}

bool checkCrossEntropyBackward(OpCheck& c) {
  if (!c.arity(6, 1))
    return false;
  int64_t places = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {c.in(1).dtype}) &&
         c.counts(c.in(2), 2 * places) && c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), places) && c.is(c.in(4), {DType::f32}) &&
         c.counts(c.in(4), places) && c.is(c.in(5), {DType::f32}) &&
         c.counts(c.in(5), 1) && c.same(c.in(0), c.out(0)) &&
         c.axis(c.op.string("axis"));
}

} // namespace

bool checkLossOp(OpCheck& c) {
  switch (c.op.kind) {
  case OpKind::SoftmaxMax:
    return checkSoftmaxMax(c);
  case OpKind::SoftmaxSum:
    return checkSoftmaxSum(c);
  case OpKind::SoftmaxStats:
    return checkSoftmaxStats(c);
  case OpKind::Nll:
    return checkNll(c);
  case OpKind::CrossEntropyBackward:
    return checkCrossEntropyBackward(c);
  default:
    return c.fail("is no op of the loss");
  }
}

} // namespace reciperun::plan
