// The optimizer's ops: flat buffers of one length.

#include "runtime/ops/OptimizerOps.h"
#include "runtime/plan/OpCheck.h"

namespace reciperun::plan {
namespace {

/// Checks a master: of the parameter's type, or, for a bf16 parameter, f32, u16
/// (the lower halves, MasterHalves.h) or the parameter itself.
bool checkMaster(OpCheck& c, const Buffer& param, const Buffer& master) {
  if (param.dtype != DType::bf16)
    return c.is(master, {param.dtype});
  return c.is(master, {DType::f32, DType::u16, DType::bf16}) &&
         (master.dtype != DType::bf16 || master.offset == param.offset ||
          c.fail("has a master in bf16 that is not its parameter"));
}

bool checkAdamW(OpCheck& c) {
  const Buffer& param = c.out(0);
  int64_t elements = elementCount(param.shape);
  const Types stored = param.dtype == DType::f64
                           ? Types{DType::f64}
                           : Types{DType::f32, DType::bf16};
  for (const Buffer* each : {&c.in(0), &c.out(2), &c.out(3)})
    if (!c.is(*each, stored) || !c.counts(*each, elements))
      return false;
  return c.is(c.in(1), {DType::f64}) && c.counts(c.in(1), 1) &&
         c.is(c.in(2), {DType::f32}) && c.counts(c.in(2), 1) &&
         c.is(c.in(3), {DType::i32}) && c.counts(c.in(3), 1) &&
         c.is(param, real) && c.is(c.out(3), {c.out(2).dtype}) &&
         checkMaster(c, param, c.out(1)) && c.counts(c.out(1), elements);
}

} // namespace

bool checkOptimizerOp(OpCheck& c) {
  switch (ops::OptimizerOp(c.op.kind)) {
  case ops::OptimizerOp::SumSquares:
    return c.is(c.in(0), real) && c.is(c.out(0), {DType::f64}) &&
           c.counts(c.out(0), 1);
  case ops::OptimizerOp::AdamW:
    return checkAdamW(c);
  }
  return c.fail("is of no known kind");
}

} // namespace reciperun::plan
