// Runs the warm-up of a model before it comes into service.
//
// The samples run on the model's code itself, as in Triton: queues, statistics,
// states of sequences and the response cache do not learn of them.

#ifndef RECIPERUN_SERVER_REPOSITORY_WARMUP_H
#define RECIPERUN_SERVER_REPOSITORY_WARMUP_H

#include "runtime/server/front/WorkerThreads.h"
#include "runtime/server/repository/ModelSource.h"

#include <functional>

namespace reciperun::server {

/// Runs the samples on each instance of each version, one after the other.
/// `then` gets the model, or the first failure: `failed to run warmup sample
/// 'NAME': ...`. It gets at once what has failed already or has no samples.
/// Once the server `isStopping`, no run begins, and `then` is not called.
/// Belongs to the server's thread.
void warmUp(Expected<LoadedModel> loaded, RunInBackground inBackground,
            std::function<bool()> isStopping,
            std::function<void(Expected<LoadedModel>)> then);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_WARMUP_H
