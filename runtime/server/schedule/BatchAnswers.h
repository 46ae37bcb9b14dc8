// The answers to a batch, its counts, and the failures of requests that wait.

#ifndef RECIPERUN_SERVER_SCHEDULE_BATCHANSWERS_H
#define RECIPERUN_SERVER_SCHEDULE_BATCHANSWERS_H

#include "runtime/server/models/ModelStatistics.h"
#include "runtime/server/schedule/ModelInstances.h"

namespace reciperun::server {

/// Answers the requests of a batch and counts it.
void answerBatch(const Batch& batch, Execution execution,
                 ModelStatistics& statistics);

/// Fails a request that has waited too long, or was cancelled.
void failWaiting(Inference& inference);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_BATCHANSWERS_H
