// See ModelInstances.h.

#include "runtime/server/schedule/ModelInstances.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace reciperun::server {
namespace {

using Answers = std::vector<BatchBackend::Answer>;

/// A backend's answers, also where it has thrown, or given too few.
Answers answersOf(BatchBackend& backend, const Batch& batch) {
  std::vector<const InferRequest*> requests;
  for (const WaitingRequest& each : batch)
    requests.push_back(&each.inference->request);
  Status failure = Status::error("the model gave no answer");
  Answers answers;
  try {
    answers = backend.execute(requests);
  } catch (const std::exception& error) { // memory is short
    failure = Status::error(error.what());
    answers.clear();
  }
  while (answers.size() < batch.size())
    answers.emplace_back(failure);
  return answers;
}

} // namespace

/// A thread and its backend. The thread has at most one batch at a time.
class ModelInstances::Worker {
public:
  Worker(EventLoop& loop, std::unique_ptr<BatchBackend> backend,
         RateLimiter& limiter, RateLimiter::Needs needs, uint64_t priority)
      : place(limiter, std::move(needs), priority), loop(loop),
        backend(std::move(backend)), thread([this] { work(); }) {}

  ~Worker() {
    {
      const std::lock_guard lock(mutex);
      isStopping = true;
    }
    changed.notify_one();
    thread.join();
  }

  /// `then` is posted to the loop.
  void run(Batch batch, std::function<void(Batch, Execution)> then) {
    {
      const std::lock_guard lock(mutex);
      given.emplace(std::move(batch), std::move(then));
    }
    changed.notify_one();
  }

  RateLimiter::Instance place;
  bool isBusy = false;

private:
  using Given = std::pair<Batch, std::function<void(Batch, Execution)>>;

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return given || isStopping; });
      if (!given)
        return;
      auto [batch, then] = *std::exchange(given, std::nullopt);
      lock.unlock();
      Execution execution;
      execution.begin = std::chrono::steady_clock::now();
      execution.answers = answersOf(*backend, batch);
      execution.end = std::chrono::steady_clock::now();
      // The batch is destroyed by the server's thread, to which it belongs.
      auto result = std::make_shared<std::pair<Batch, Execution>>(
          std::move(batch), std::move(execution));
      loop.post([result = std::move(result), then = std::move(then)] {
        then(std::move(result->first), std::move(result->second));
      });
      lock.lock();
    }
  }

  EventLoop& loop;
  std::unique_ptr<BatchBackend> backend;
  std::mutex mutex; // of the three below
  std::condition_variable changed;
  std::optional<Given> given;
  bool isStopping = false;
  std::thread thread; // after all that it uses
};

ModelInstances::ModelInstances(EventLoop& loop, RateLimiter& limiter,
                               Settings settings,
                               std::function<void()> whenFree)
    : loop(loop), whenFree(std::move(whenFree)) {
  for (size_t i = 0; i < settings.backends.size(); ++i)
    workers.push_back(std::make_unique<Worker>(
        loop, std::move(settings.backends[i]), limiter,
        i < settings.needs.size() ? std::move(settings.needs[i])
                                  : RateLimiter::Needs(),
        i < settings.priorities.size() ? settings.priorities[i] : 1));
}

ModelInstances::~ModelInstances() {
  *isAlive = false;
}

ModelInstances::Worker* ModelInstances::freeWorker() {
  for (const auto& each : workers)
    if (!each->isBusy && each->place.canStart([this] { whenFree(); }))
      return each.get();
  return nullptr;
}

bool ModelInstances::hasFree() {
  return freeWorker() != nullptr;
}

void ModelInstances::run(Batch batch, Done done) {
  Worker& worker = *freeWorker();
  worker.isBusy = true;
  worker.place.start();
  worker.run(std::move(batch),
             [this, &worker, alive = isAlive,
              done = std::move(done)](Batch finished, Execution execution) {
               if (!*alive)
                 return;
               worker.isBusy = false;
               worker.place.finish();
               done(std::move(finished), std::move(execution));
               if (*alive)
                 whenFree();
             });
}

} // namespace reciperun::server
