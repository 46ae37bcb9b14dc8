// Passes requests from the front's thread to the engine's thread, and their
// results back.
//
// The engine must run on the thread that opened its ranks. The front, which
// reads and writes JSON, encodes prompts and decodes answers, runs on another
// thread. Each side takes everything that the other has queued for it at once.

#ifndef RECIPERUN_SERVER_FRONT_ENGINEQUEUE_H
#define RECIPERUN_SERVER_FRONT_ENGINEQUEUE_H

#include "runtime/base/Status.h"
#include "runtime/serve/engine/Engine.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace reciperun::server {

/// The front's id of a request. Never reused.
using Ticket = uint64_t;

/// An update about a request: a refusal by the engine, or what a step did for
/// it.
struct EngineUpdate {
  Ticket ticket = 0;
  Status refusal = {};
  serve::Progress progress = {};
  std::chrono::steady_clock::time_point time = {}; // of the end of the step
};

/// The updates since the last report, in their order, and the engine's state
/// after them.
struct EngineReport {
  std::vector<EngineUpdate> updates;
  serve::EngineStatistics statistics;
  /// Why the engine has stopped and answers no more requests; ok while it runs.
  Status failure = {};
};

class EngineQueue {
public:
  // ---- of the front

  /// `wake` is called by the engine's thread when there is a new report.
  void setWake(std::function<void()> wake);
  Ticket submit(serve::Request request);
  void cancel(Ticket ticket, serve::FinishReason reason);
  EngineReport takeReport();
  /// How long the current step has taken so far; zero between steps. A step
  /// waits for all ranks of the model, so it may never end.
  std::chrono::steady_clock::duration stepTime();

  // ---- of the engine

  /// Answers requests until isStopped() returns true. It is called between
  /// steps and while the engine is idle. Returns the failure of a step, if any.
  Status run(serve::Engine& engine, const std::function<bool()>& isStopped);

private:
  struct Command {
    Ticket ticket = 0;
    serve::Request request = {};
    bool cancels = false; // instead of a submission
    serve::FinishReason reason = serve::FinishReason::cancelled;
  };

  Expected<std::vector<serve::Progress>> step(serve::Engine& engine);
  bool takeCommands(std::vector<Command>& commands, bool isIdle);
  void apply(std::vector<Command> commands, serve::Engine& engine);
  void publish(std::vector<EngineUpdate> updates, const serve::Engine& engine,
               const Status& failure);

  // These belong to the engine's thread.
  std::map<Ticket, serve::RequestId> requests;
  std::map<serve::RequestId, Ticket> tickets;
  std::vector<EngineUpdate> refused; // since the last publish()

  std::mutex mutex; // of all below
  std::condition_variable changed;
  std::vector<Command> commands;
  Ticket next = 1;
  std::optional<std::chrono::steady_clock::time_point> stepBegin;
  EngineReport report;
  std::function<void()> wake;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_FRONT_ENGINEQUEUE_H
