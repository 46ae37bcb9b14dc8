// Decides when a model answers its requests.

#ifndef RECIPERUN_SERVER_SCHEDULE_SCHEDULER_H
#define RECIPERUN_SERVER_SCHEDULE_SCHEDULER_H

#include "runtime/base/Status.h"
#include "runtime/server/models/Inference.h"

#include <cstdint>
#include <memory>

namespace reciperun::server {

/// Belongs to the server's thread. Is destroyed after all of its requests have
/// ended.
class Scheduler {
public:
  virtual ~Scheduler() = default;
  /// Answers a request now or later, also when it is cancelled. `elements` is
  /// its size as a part of a batch.
  virtual void enqueue(std::shared_ptr<Inference> inference,
                       int64_t elements) = 0;
  /// Why the model cannot answer requests at this time; ok where it can.
  virtual Status health() const { return Status::ok(); }
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_SCHEDULER_H
