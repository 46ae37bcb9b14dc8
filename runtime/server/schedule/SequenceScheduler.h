// Answers the requests of each sequence in their order.
//
// Requests with the same sequence id are answered one after the other. Requests
// of different sequences form batches. The number of active sequences is
// limited; others wait until one ends. A sequence ends after a request with the
// END flag, or when no request arrives for too long. The scheduler adds the
// control inputs, and the states, which it keeps between the requests.

#ifndef RECIPERUN_SERVER_SCHEDULE_SEQUENCESCHEDULER_H
#define RECIPERUN_SERVER_SCHEDULE_SEQUENCESCHEDULER_H

#include "runtime/server/models/ModelStatistics.h"
#include "runtime/server/schedule/ModelInstances.h"
#include "runtime/server/schedule/Scheduler.h"
#include "runtime/server/schedule/SequenceSettings.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

class SequenceScheduler : public Scheduler {
public:
  /// The references must outlive the object.
  SequenceScheduler(EventLoop& loop, RateLimiter& limiter,
                    SequenceSettings settings,
                    ModelInstances::Settings instances,
                    ModelStatistics& statistics);
  ~SequenceScheduler() override;

  void enqueue(std::shared_ptr<Inference> inference, int64_t elements) override;

private:
  struct Sequence {
    std::deque<WaitingRequest> waiting;
    bool isActive = false;
    bool isRunning = false; // a request of it
    bool takesMore = true;  // no request with the END flag has come
    Time lastUse = {};
    std::vector<Tensor> states; // in the order of the settings
  };
  using Sequences = std::map<SequenceId, Sequence>;

  Status check(const InferRequest& request, int64_t elements) const;
  void activate();
  void dispatch();
  Batch takeBatch(Time now);
  std::vector<Sequences::iterator> readySequences();
  WaitingRequest takeRequest(Sequence& sequence);
  void addControls(InferRequest& request) const;
  void addStates(InferRequest& request, Sequence& sequence) const;
  void finish(const Batch& batch, Execution execution);
  void keepStates(Sequence& sequence, std::vector<Tensor>& outputs) const;
  void erase(Sequences::iterator sequence);
  void endCancelled();
  void endIdle(Time now);
  void setTimer();

  EventLoop& loop;
  SequenceSettings settings;
  ModelStatistics& statistics;
  Sequences sequences;
  std::deque<SequenceId> backlog; // of sequences that are not active
  size_t active = 0;
  std::optional<Time> timer;
  std::shared_ptr<bool> isAlive = std::make_shared<bool>(true);
  ModelInstances instances;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_SEQUENCESCHEDULER_H
