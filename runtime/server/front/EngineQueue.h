// Carries requests from the front's thread to the engine's, and what the engine
// made of them back.
//
// The engine needs the thread that opened its ranks; the front, which reads and
// writes JSON, encodes prompts and decodes answers, has another one. Each side
// takes all that the other has left for it at once.

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

/// The front's name for a request. Never used twice.
using Ticket = uint64_t;

/// What became of a request: the engine refused it, or a step of the engine.
struct EngineUpdate {
  Ticket ticket = 0;
  Status refusal = {};
  serve::Progress progress = {};
  std::chrono::steady_clock::time_point time = {}; // of the end of the step
};

/// The updates since the last time, in their order, and the engine's state
/// after them.
struct EngineReport {
  std::vector<EngineUpdate> updates;
  serve::EngineStatistics statistics;
  /// Why the engine has stopped: no request is answered any more.
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
  /// How long the present step has taken so far; zero between steps. A step
  /// waits for all ranks of the model, so that it may never end.
  std::chrono::steady_clock::duration stepTime();

  // ---- of the engine

  /// Answers requests until `isStopped`, which is asked between two steps and
  /// while the engine is idle. Returns the failure of a step.
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

  // Of the engine's thread.
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
