// The two halves of validate(): the plan's tables, and its ops.

#ifndef RECIPERUN_PLAN_VALIDATE_H
#define RECIPERUN_PLAN_VALIDATE_H

#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

namespace reciperun::plan {

/// Arity, types and shapes of one op, whose buffers have been validated.
Status validateOp(const Plan& plan, const Stage& stage, const Op& op);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_VALIDATE_H
