// Groups requests into batches for the instances of a model, by the rules of
// RequestQueue.h.

#ifndef RECIPERUN_SERVER_SCHEDULE_BATCHSCHEDULER_H
#define RECIPERUN_SERVER_SCHEDULE_BATCHSCHEDULER_H

#include "runtime/server/models/ModelStatistics.h"
#include "runtime/server/schedule/ModelInstances.h"
#include "runtime/server/schedule/RequestQueue.h"
#include "runtime/server/schedule/Scheduler.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace reciperun::server {

class BatchScheduler : public Scheduler {
public:
  /// The references must outlive the object.
  BatchScheduler(EventLoop& loop, RateLimiter& limiter,
                 const BatchSettings& settings,
                 ModelInstances::Settings instances,
                 ModelStatistics& statistics);
  ~BatchScheduler() override;

  void enqueue(std::shared_ptr<Inference> inference, int64_t elements) override;

private:
  void dispatch();
  void endLate();
  void setTimer();
  void send(Batch batch);
  void finish(const Batch& batch, Execution execution, size_t order);

  EventLoop& loop;
  RequestQueue queue;
  bool keepsOrder;
  ModelStatistics& statistics;
  std::optional<Time> timer; // the next one that is set
  size_t sent = 0;           // batches
  size_t answered = 0;       // batches, in their order
  /// Finished batches that wait for earlier batches to finish, by their order.
  std::map<size_t, std::pair<Batch, Execution>> early;
  std::shared_ptr<bool> isAlive = std::make_shared<bool>(true);
  ModelInstances instances;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_BATCHSCHEDULER_H
