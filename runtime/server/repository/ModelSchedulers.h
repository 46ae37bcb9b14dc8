// The scheduler that a model's configuration asks for.

#ifndef RECIPERUN_SERVER_REPOSITORY_MODELSCHEDULERS_H
#define RECIPERUN_SERVER_REPOSITORY_MODELSCHEDULERS_H

#include "runtime/server/http/EventLoop.h"
#include "runtime/server/models/ModelStatistics.h"
#include "runtime/server/repository/ModelSource.h"
#include "runtime/server/schedule/RateLimiter.h"
#include "runtime/server/schedule/Scheduler.h"

#include <memory>

namespace reciperun::server {

struct SchedulerContext {
  EventLoop& loop;
  RateLimiter& limiter;
  bool limitsRates = false;
};

/// Of a verified configuration that is no ensemble. The references of the
/// context and `counts` must outlive the scheduler.
std::unique_ptr<Scheduler> makeScheduler(const inference::ModelConfig& config,
                                         ModelCode code,
                                         const SchedulerContext& context,
                                         ModelStatistics& counts);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_MODELSCHEDULERS_H
