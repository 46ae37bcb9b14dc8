// The parts of validate(): the plan's ops, its transfers between stages,
// its connections, and its settings.

#ifndef RECIPERUN_PLAN_VALIDATE_H
#define RECIPERUN_PLAN_VALIDATE_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace reciperun::plan {

/// Checks arity, types and shapes of one op, whose buffers have been validated.
Status validateOp(const Plan& plan, const Stage& stage, const Op& op);

/// Checks that each transfer of a stage has its counterpart with the same shape
/// in the other stage. The stages have been validated.
Status validateTransfers(const Plan& plan);

/// Checks that the table of connections is there when it is needed, and that it
/// serves all collectives and transfers. The stages have been validated.
Status validateConnections(const Plan& plan);

/// Checks that the limits of serving agree with one another. Ok for a plan that
/// does not serve.
Status validateServingLimits(const Plan& plan);

/// Checks the function and the buffers of each bucket of a plan that serves.
/// The limits and the stages have been validated.
Status validateBuckets(const Plan& plan);

/// Checks batch sizes, data sources, steps, learning rate and checkpoints of a
/// training plan.
Status validateSettings(const Plan& plan);

/// The largest step number. A step number is an i32 on the device.
inline constexpr int64_t maxSteps = std::numeric_limits<int32_t>::max();

/// a * b, or nullopt when it exceeds 64 bits. Neither is negative.
inline std::optional<int64_t> product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// A name in backticks.
std::string quoted(const std::string& name);
/// `the plan is damaged: ...`
Status damaged(const std::string& what);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_VALIDATE_H
