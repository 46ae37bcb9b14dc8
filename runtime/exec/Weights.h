// Initializes the state before the first step: parameters and master weights.

#ifndef RECIPERUN_EXEC_WEIGHTS_H
#define RECIPERUN_EXEC_WEIGHTS_H

#include "runtime/exec/Executor.h"

namespace reciperun::exec {

/// Initializes all parameter values that this rank stores, with the plan's
/// initializers. Weights that are loaded later overwrite them. The device draws
/// the values if it can; otherwise `threads` threads of the host do.
Status initializeParameters(const plan::Plan& plan, const Executor& executor,
                            int rank, int threads);

/// Copies the parameters, widened, into this rank's shard of the master
/// weights. Call it after all parameters have their values.
Status fillMasters(const plan::Plan& plan, const Executor& executor, int rank);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_WEIGHTS_H
