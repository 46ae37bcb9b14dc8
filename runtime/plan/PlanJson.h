// The plan as JSON text, and the check that a plan is safe to run.

#ifndef RECIPERUN_PLAN_PLANJSON_H
#define RECIPERUN_PLAN_PLANJSON_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <string_view>

namespace reciperun::plan {

/// Writes a plan: one field of the plan, buffer, parameter, op or step a line.
/// Equal plans give equal bytes; fromJson(toJson(p)) equals p.
std::string toJson(const Plan& plan);

/// Reads what toJson wrote. Refuses, with the place, text that is no JSON,
/// fields that are missing, unknown or of another type, and versions that this
/// program does not know. The result is not yet validated.
Expected<Plan> fromJson(std::string_view text);

/// Whether every number of the plan is in its range: the mesh, the arena, the
/// buffers, each op's operands and shapes, groups, schedules, parameters. A
/// plan that passes never makes the executor touch memory outside the arena.
Status validate(const Plan& plan);

/// fromJson and validate of a file, which is refused where its `hash` is not
/// that of its text; the messages begin with its path. Relative paths of the
/// plan lead where `folder` says, seen from the working folder, or where the
/// plan itself does if it is empty: see resolvePaths.
Expected<Plan> readPlan(const std::string& path,
                        const std::string& folder = {});

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PLANJSON_H
