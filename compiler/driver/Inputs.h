// How a command checks the inputs of a run: whether a missing file is an error,
// and where the messages go.

#ifndef RECIPEC_DRIVER_INPUTS_H
#define RECIPEC_DRIVER_INPUTS_H

#include "compiler/driver/Session.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

namespace recipec::driver {

/// Whether the recipe's hardware matches this machine: CPUs, or GPUs if there
/// are any. The run then probably sees the same files as this process.
bool isForThisMachine(const recipe::Recipe& recipe);

/// Checks the inputs of a run; see files::checkInputs. Errors that would end
/// the run go to `engine` if `isCertain`, else to the session's doubts.
void lookForInputs(Session& session, diag::Engine& engine,
                   const recipe::Recipe& recipe,
                   const reciperun::plan::Plan& plan, bool isCertain);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_INPUTS_H
