// See BatchScheduler.h.

#include "runtime/server/schedule/BatchScheduler.h"

#include "runtime/server/models/RequestCheck.h"
#include "runtime/server/schedule/BatchAnswers.h"

#include <utility>

namespace reciperun::server {

BatchScheduler::BatchScheduler(EventLoop& loop, RateLimiter& limiter,
                               const BatchSettings& settings,
                               ModelInstances::Settings given,
                               ModelStatistics& statistics)
    : loop(loop), queue(settings), keepsOrder(settings.keepsOrder),
      statistics(statistics),
      instances(loop, limiter, std::move(given), [this] { dispatch(); }) {}

BatchScheduler::~BatchScheduler() {
  *isAlive = false;
}

void BatchScheduler::enqueue(std::shared_ptr<Inference> inference,
                             int64_t elements) {
  Inference& asked = *inference;
  WaitingRequest request{.inference = std::move(inference),
                         .elements = elements,
                         .arrival = std::chrono::steady_clock::now()};
  if (const Status pushed = queue.push(std::move(request)); !pushed.isOk())
    return asked.fail(withRequestId(pushed, asked.request));
  asked.whenCancelled([this, alive = isAlive] {
    if (*alive)
      endLate();
  });
  dispatch();
}

/// Sends batches while instances are free.
void BatchScheduler::dispatch() {
  if (queue.hasLate(std::chrono::steady_clock::now()))
    endLate();
  while (queue.size() > 0 && instances.hasFree()) {
    Batch batch = queue.takeBatch(std::chrono::steady_clock::now());
    if (batch.empty())
      break;
    send(std::move(batch));
  }
  statistics.pending = queue.size();
  setTimer();
}

/// Answers those that are cancelled or have waited too long.
void BatchScheduler::endLate() {
  for (const WaitingRequest& each :
       queue.takeEnded(std::chrono::steady_clock::now()))
    failWaiting(*each.inference);
  statistics.pending = queue.size();
}

void BatchScheduler::setTimer() {
  const Time now = std::chrono::steady_clock::now();
  const std::optional<Time> next = queue.nextEvent(now);
  if (!next || (timer && *timer <= *next))
    return;
  timer = next;
  const auto delay = std::chrono::ceil<std::chrono::microseconds>(*next - now);
  loop.runAfter(std::max(delay, std::chrono::microseconds(0)),
                [this, alive = isAlive, due = *next] {
                  if (!*alive)
                    return;
                  if (timer == due)
                    timer.reset();
                  dispatch();
                });
}

void BatchScheduler::send(Batch batch) {
  instances.run(std::move(batch),
                [this, order = sent++](Batch finished, Execution execution) {
                  finish(finished, std::move(execution), order);
                });
}

void BatchScheduler::finish(const Batch& batch, Execution execution,
                            size_t order) {
  if (!keepsOrder)
    return answerBatch(batch, std::move(execution), statistics);
  early.emplace(order, std::pair(batch, std::move(execution)));
  for (auto next = early.find(answered); next != early.end();
       next = early.find(answered)) {
    const auto ready = std::move(next->second);
    early.erase(next);
    ++answered;
    answerBatch(ready.first, ready.second, statistics);
  }
}

} // namespace reciperun::server
