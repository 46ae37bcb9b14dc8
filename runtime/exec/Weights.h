// The state before the first step: parameters and master weights.

#ifndef RECIPERUN_EXEC_WEIGHTS_H
#define RECIPERUN_EXEC_WEIGHTS_H

#include "runtime/exec/Executor.h"

namespace reciperun::exec {

/// Gives all that this rank keeps of parameters its first values, as the plan's
/// initialisers say. Weights that are loaded afterwards replace them. They are
/// drawn by the device, or on `threads` threads of the host.
Status initializeParameters(const plan::Plan& plan, const Executor& executor,
                            int rank, int threads);

/// Copies the parameters, widened, into this rank's part of the master weights.
/// Comes after all parameters have their values.
Status fillMasters(const plan::Plan& plan, const Executor& executor, int rank);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_WEIGHTS_H
