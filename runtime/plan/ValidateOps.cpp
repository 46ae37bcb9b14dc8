// Checks one op: its operands exist, have the right types, and their sizes
// match. Each family of ops has its checks in its own file.
//
// Kernels treat leading dimensions as one and never check a shape again, so the
// checks count elements in the same way: a linear's x has m*k elements, y has
// m*n. An op that passes cannot access memory outside its buffers. The
// descriptions in runtime/ops are the specification.

#include "runtime/ops/OpKind.h"
#include "runtime/plan/OpCheck.h"
#include "runtime/plan/Validate.h"

#include <algorithm>
#include <string>

namespace reciperun::plan {
namespace {

bool checkFamily(OpCheck& c) {
  switch (ops::infoOf(c.op.kind).family) {
  case ops::OpFamily::activations:
    return checkActivationOp(c);
  case ops::OpFamily::attention:
    return checkAttentionOp(c);
  case ops::OpFamily::collectives:
    return checkCollectiveOp(c);
  case ops::OpFamily::dense:
    return checkDenseOp(c);
  case ops::OpFamily::experts:
    return checkExpertsOp(c);
  case ops::OpFamily::loss:
    return checkLossOp(c);
  case ops::OpFamily::moves:
    return checkMoveOp(c);
  case ops::OpFamily::norms:
    return checkNormOp(c);
  case ops::OpFamily::optimizer:
    return checkOptimizerOp(c);
  case ops::OpFamily::quantization:
    return checkQuantizationOp(c);
  case ops::OpFamily::sampling:
    return checkSamplingOp(c);
  case ops::OpFamily::stateSpace:
    return checkStateSpaceOp(c);
  }
  return c.fail("is of no known family");
}

/// Checks that all ops except copies use device buffers.
bool checkPlaces(OpCheck& c) {
  if (c.op.kind == OpKind::CopyBegin || c.op.kind == OpKind::CopyEnd)
    return true;
  for (const std::vector<int>* list : {&c.op.inputs, &c.op.outputs})
    for (int number : *list)
      if (number >= 0 && c.stage.buffers[size_t(number)].host)
        return c.fail("names `" + c.stage.buffers[size_t(number)].name +
                      "`, which waits on the host");
  return c.op.workspace < 0 || !c.stage.buffers[size_t(c.op.workspace)].host ||
         c.fail("has a workspace on the host");
}

bool checkAttributes(OpCheck& c) {
  for (const auto& [name, value] : c.op.attributes) {
    const ops::AttributeInfo* info = ops::findAttribute(c.op.kind, name);
    if (!info || !info->isInPlans)
      return c.fail("has the unknown attribute `" + name + "`");
    if (!ops::isOf(info->type, value))
      return c.fail("has an attribute `" + name + "` that is no " +
                    ops::nameOf(info->type));
  }
  return true;
}

bool isInPlans(OpCheck& c) {
  const ops::Traits& traits = ops::traitsOf(c.op.kind);
  return !(traits.isAlias || traits.isProgramOnly) ||
         c.fail("is no op of a plan");
}

} // namespace

Status validateOp(const Plan& plan, const Stage& stage, const Op& op) {
  OpCheck check(plan, stage, op);
  isInPlans(check) && check.arity() && checkAttributes(check) &&
      checkFamily(check) && checkPlaces(check);
  return check.failure;
}

} // namespace reciperun::plan
