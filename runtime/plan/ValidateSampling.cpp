// The choice of tokens: one for each row of logits. See ValidateOps.cpp.

#include "runtime/plan/OpCheck.h"
#include "runtime/sizes/DrawNumbers.h"

namespace reciperun::plan {

bool checkSamplingOp(OpCheck& c) {
  const int64_t rows = rowsOf(c.in(0));
  return c.is(c.in(0), real) && c.is(c.in(1), {DType::f64}) &&
         c.counts(c.in(1), rows * sizes::drawNumbers) &&
         c.is(c.out(0), {DType::i32}) && c.counts(c.out(0), rows);
}

} // namespace reciperun::plan
