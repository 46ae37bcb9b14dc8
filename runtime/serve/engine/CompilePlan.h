// Compiles the plan of a folder that has none with `recipec`, if it is
// available.

#ifndef RECIPERUN_SERVE_ENGINE_COMPILEPLAN_H
#define RECIPERUN_SERVE_ENGINE_COMPILEPLAN_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <filesystem>
#include <string>
#include <vector>

namespace reciperun::serve {

/// Returns the plan that `recipec plan DIRECTORY` prints, with `--set` for each
/// of `settings`; see its help. Uses the `recipec` next to this program, or the
/// one in PATH. Of a model at an address it gets ModelHeaders. Writes no files
/// into the directory. Fails when there is no `recipec`, and with recipec's
/// message when it refuses the folder.
Expected<plan::Plan> compilePlan(const std::filesystem::path& directory,
                                 const std::vector<std::string>& settings);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_COMPILEPLAN_H
