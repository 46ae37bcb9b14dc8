// The requests of a model that wait, and the choice of the next batch.
//
// A request waits behind those of its own and of higher priorities. The next
// batch is what fits, from the front:
//   without preferred sizes and delay, as much as there is;
//   with preferred sizes, the largest of these that the waiting requests reach
//   exactly, otherwise as much as there is;
//   with a delay, nothing until one of the sizes is reached or the oldest
//   request has waited for so long.
// A request that waits too long fails, or goes behind all others. One whose
// shapes differ from those of the batch ends the batch, except for ragged
// inputs.

#ifndef RECIPERUN_SERVER_SCHEDULE_REQUESTQUEUE_H
#define RECIPERUN_SERVER_SCHEDULE_REQUESTQUEUE_H

#include "runtime/base/Status.h"
#include "runtime/server/models/Inference.h"
#include "runtime/server/schedule/BatchSettings.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace reciperun::server {

using Time = std::chrono::steady_clock::time_point;

struct WaitingRequest {
  std::shared_ptr<Inference> inference;
  int64_t elements = 1; // of a batch
  Time arrival = {};
};

using Batch = std::vector<WaitingRequest>;

class RequestQueue {
public:
  explicit RequestQueue(BatchSettings settings);

  /// Fails with unavailable when the queue of its priority is full.
  Status push(WaitingRequest request);

  /// Takes the requests out that are cancelled or fail because they waited too
  /// long.
  Batch takeEnded(Time now);

  /// Whether takeEnded() would find a late request.
  bool hasLate(Time now) const {
    return !deadlines.empty() && *deadlines.begin() <= now;
  }

  /// The next batch; empty where nothing waits or it is better to wait, until
  /// nextEvent() at the latest.
  Batch takeBatch(Time now);

  /// When a timeout or a delay ends, nothing without one.
  std::optional<Time> nextEvent(Time now) const;

  size_t size() const;

private:
  struct Waiting {
    WaitingRequest request;
    std::optional<Time> deadline;
  };
  using Line = std::deque<Waiting>;

  void delayLate(Time now);
  std::vector<const Waiting*> firstWaiting(size_t most) const;
  size_t sizeOfBatch(const std::vector<const Waiting*>& waiting,
                     Time now) const;
  bool fitsTogether(const InferRequest& first, const InferRequest& other) const;
  Batch removeFirst(size_t count);
  void forget(const Waiting& waiting);

  BatchSettings settings;
  std::vector<Line> lines; // by priority
  Line late;               // behind all lines
  std::multiset<Time> deadlines;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_REQUESTQUEUE_H
