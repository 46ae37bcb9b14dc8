// The choice of tokens: one for each row of logits. See ValidateOps.cpp.

#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {

bool checkSamplingOp(OpCheck& c) {
  return c.is(c.in(0), real) && c.is(c.out(0), {DType::i32}) &&
         c.counts(c.out(0), rowsOf(c.in(0)));
}

} // namespace reciperun::plan
