// The parts of validate(): the plan's tables, its ops, and what its stages
// send.

#ifndef RECIPERUN_PLAN_VALIDATE_H
#define RECIPERUN_PLAN_VALIDATE_H

#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

#include <string>

namespace reciperun::plan {

/// Arity, types and shapes of one op, whose buffers have been validated.
Status validateOp(const Plan& plan, const Stage& stage, const Op& op);

/// What one stage sends another receives, in the same shape. The stages have
/// been validated.
Status validateTransfers(const Plan& plan);

/// A name in backticks.
std::string quoted(const std::string& name);
/// `the plan is damaged: ...`
Status damaged(const std::string& what);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_VALIDATE_H
