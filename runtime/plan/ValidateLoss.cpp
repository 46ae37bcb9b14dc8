// The loss: softmax statistics of the logits at each position, and the sum of
// the losses. See ValidateOps.cpp.

#include "runtime/ops/LossOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

bool checkSoftmaxMax(OpCheck& c) {
  return c.is(c.in(0), real) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), rowsOf(c.in(0)));
}

bool checkSoftmaxSum(OpCheck& c) {
  int64_t places = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {DType::i32}) &&
         c.counts(c.in(2), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), 2 * places) &&
         c.axis(ops::SoftmaxSumAttributes(c.op.attributes).axis);
}

bool checkSoftmaxStats(OpCheck& c) {
  int64_t places = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), places) && c.isMath(c.out(1), c.in(0)) &&
         c.counts(c.out(1), 2 * places);
}

bool checkNll(OpCheck& c) {
  int64_t places = elementCount(c.in(0).shape);
  return c.is(c.in(0), wide) && c.is(c.in(1), {c.in(0).dtype}) &&
         c.counts(c.in(1), 2 * places) && c.is(c.in(2), {DType::f32}) &&
         c.counts(c.in(2), places) && c.is(c.in(3), {DType::f32}) &&
         c.counts(c.in(3), 1) && c.is(c.out(0), {DType::f64}) &&
         c.counts(c.out(0), 1);
}

bool checkCrossEntropyBackward(OpCheck& c) {
  int64_t places = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {c.in(1).dtype}) &&
         c.counts(c.in(2), 2 * places) && c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), places) && c.is(c.in(4), {DType::f32}) &&
         c.counts(c.in(4), places) && c.is(c.in(5), {DType::f32}) &&
         c.counts(c.in(5), 1) && c.same(c.in(0), c.out(0)) &&
         c.axis(ops::SoftmaxSumAttributes(c.op.attributes).axis);
}

} // namespace

bool checkLossOp(OpCheck& c) {
  switch (ops::LossOp(c.op.kind)) {
  case ops::LossOp::SoftmaxMax:
    return checkSoftmaxMax(c);
  case ops::LossOp::SoftmaxSum:
    return checkSoftmaxSum(c);
  case ops::LossOp::SoftmaxStats:
    return checkSoftmaxStats(c);
  case ops::LossOp::Nll:
    return checkNll(c);
  case ops::LossOp::CrossEntropyBackward:
    return checkCrossEntropyBackward(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
