// The plan as JSON text, and the check that a plan is safe to run.

#ifndef RECIPERUN_PLAN_PLANJSON_H
#define RECIPERUN_PLAN_PLANJSON_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <string_view>

namespace reciperun::plan {

/// Writes a plan with one field of the plan, buffer, parameter, op or step per
/// line. Equal plans give equal bytes, and fromJson(toJson(p)) equals p.
std::string toJson(const Plan& plan);

/// Reads the output of toJson. Fails, with the position, for text that is not
/// JSON, for fields that are missing, unknown or of another type, and for
/// unknown versions. The result is not yet validated.
Expected<Plan> fromJson(std::string_view text);

/// Checks that every number of the plan is in its range: the mesh, the arena,
/// the buffers, each op's operands and shapes, groups, schedules, parameters. A
/// valid plan never makes the executor touch memory outside the arena.
Status validate(const Plan& plan);

/// fromJson and validate for a file. Fails when the file's `hash` does not
/// match its text. Messages begin with the path. Relative paths of the plan
/// start in `folder`, relative to the working folder, or where the plan says if
/// `folder` is empty: see resolvePaths.
Expected<Plan> readPlan(const std::string& path,
                        const std::string& folder = {});

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PLANJSON_H
