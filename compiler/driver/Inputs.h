// What a command does about the inputs of a run: whether a missing file is an
// error, and where the messages go.

#ifndef RECIPEC_DRIVER_INPUTS_H
#define RECIPEC_DRIVER_INPUTS_H

#include "compiler/driver/Session.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

namespace recipec::driver {

/// Whether the recipe's hardware is this machine's, so that the run is likely
/// to see the files that are seen here: CPUs, or GPUs where there are any.
bool isForThisMachine(const recipe::Recipe& recipe);

/// Looks for the inputs of a run; see files::checkInputs. What would end the
/// run goes to `engine` where `isCertain`, and to the session's doubts
/// elsewhere.
void lookForInputs(Session& session, diag::Engine& engine,
                   const recipe::Recipe& recipe,
                   const reciperun::plan::Plan& plan, bool isCertain);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_INPUTS_H
