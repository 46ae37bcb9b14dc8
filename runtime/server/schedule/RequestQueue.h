// The waiting requests of a model, and the choice of the next batch.
//
// A request waits behind the requests of higher priorities and the earlier ones
// of its own. A batch takes requests from the front as far as they fit:
//   without preferred sizes and delay: all that fit;
//   with preferred sizes: the largest preferred size that the requests reach
//   exactly, otherwise all that fit;
//   with a delay: none until a preferred size is reached, the batch cannot grow
//   any more, or the oldest request has waited for the delay.
// A request that waits too long fails or moves behind all others. A request
// ends the batch before it if its shapes differ, except in ragged inputs.

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

  /// Removes and returns the requests that are cancelled or fail because they
  /// waited too long.
  Batch takeEnded(Time now);

  /// Whether takeEnded() would find a late request.
  bool hasLate(Time now) const {
    return !deadlines.empty() && *deadlines.begin() <= now;
  }

  /// Removes and returns the next batch. Empty if nothing waits or a larger
  /// batch may form until nextEvent().
  Batch takeBatch(Time now);

  /// When the next timeout or delay ends; nullopt if there is none.
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
