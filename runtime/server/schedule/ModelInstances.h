// The instances of a model: threads that answer batches.

#ifndef RECIPERUN_SERVER_SCHEDULE_MODELINSTANCES_H
#define RECIPERUN_SERVER_SCHEDULE_MODELINSTANCES_H

#include "runtime/server/http/EventLoop.h"
#include "runtime/server/models/Backend.h"
#include "runtime/server/schedule/RateLimiter.h"
#include "runtime/server/schedule/RequestQueue.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace reciperun::server {

/// What an instance made of a batch.
struct Execution {
  std::vector<BatchBackend::Answer> answers; // in the batch's order
  Time begin = {}, end = {};                 // of the execution
};

/// Belongs to the server's thread.
class ModelInstances {
public:
  struct Settings {
    /// One for each instance.
    std::vector<std::unique_ptr<BatchBackend>> backends;
    std::vector<RateLimiter::Needs> needs; // of each; empty: none
    std::vector<uint64_t> priorities;      // of each for the limiter
  };
  using Done = std::function<void(Batch, Execution)>;

  /// The references must outlive the object. `whenFree` runs when an instance
  /// has become free.
  ModelInstances(EventLoop& loop, RateLimiter& limiter, Settings settings,
                 std::function<void()> whenFree);
  ModelInstances(const ModelInstances&) = delete;
  ModelInstances& operator=(const ModelInstances&) = delete;
  /// Waits for the batches that run; their `done` is not called.
  ~ModelInstances();

  /// Whether an instance is free for run(). If not, `whenFree` runs when one
  /// may be.
  bool hasFree();
  /// Runs a batch on a free instance; `done` is called by the server's thread.
  void run(Batch batch, Done done);

private:
  class Worker;

  Worker* freeWorker();

  EventLoop& loop;
  std::function<void()> whenFree;
  std::vector<std::unique_ptr<Worker>> workers;
  /// Becomes false on destruction, so that posted work no longer uses the
  /// object.
  std::shared_ptr<bool> isAlive = std::make_shared<bool>(true);
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_MODELINSTANCES_H
