// The plan of a folder that has none: compiled by `recipec`, where it is at
// hand.

#ifndef RECIPERUN_SERVE_COMPILEPLAN_H
#define RECIPERUN_SERVE_COMPILEPLAN_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <filesystem>

namespace reciperun::serve {

/// What `recipec plan DIRECTORY` prints; see its help. It is the one that lies
/// beside this program, or else in PATH. Nothing is written. Fails where there
/// is none, and with its own words where it refuses the folder.
Expected<plan::Plan> compilePlan(const std::filesystem::path& directory);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMPILEPLAN_H
