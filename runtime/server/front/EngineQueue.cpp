// See EngineQueue.h.

#include "runtime/server/front/EngineQueue.h"

#include <exception>
#include <iterator>
#include <string>

namespace reciperun::server {
namespace {

using serve::Engine;
using serve::Progress;
using serve::RequestId;

/// The interval at which an idle engine checks whether it is to stop.
constexpr auto idleTime = std::chrono::milliseconds(50);

/// Turns an exception of the standard library (out of memory) into a refusal of
/// the request.
Expected<RequestId> submitSafely(Engine& engine, serve::Request request) {
  try {
    return engine.submit(std::move(request));
  } catch (const std::exception& failure) {
    return Status::error("the engine cannot take the request: " +
                         std::string(failure.what()));
  }
}

/// Turns such an exception in a step into a failure of the engine, whose state
/// is then unknown.
Expected<std::vector<Progress>> stepSafely(Engine& engine) {
  try {
    return engine.step();
  } catch (const std::exception& failure) {
    return Status::error("a step failed: " + std::string(failure.what()));
  }
}

} // namespace

void EngineQueue::setWake(std::function<void()> given) {
  const std::lock_guard lock(mutex);
  wake = std::move(given);
}

Ticket EngineQueue::submit(serve::Request request) {
  const std::lock_guard lock(mutex);
  commands.push_back({.ticket = next, .request = std::move(request)});
  changed.notify_one();
  return next++;
}

void EngineQueue::cancel(Ticket ticket, serve::FinishReason reason) {
  const std::lock_guard lock(mutex);
  commands.push_back({.ticket = ticket, .cancels = true, .reason = reason});
  changed.notify_one();
}

EngineReport EngineQueue::takeReport() {
  const std::lock_guard lock(mutex);
  EngineReport taken = {.updates = {},
                        .statistics = report.statistics,
                        .failure = report.failure};
  taken.updates.swap(report.updates);
  return taken;
}

Status EngineQueue::run(Engine& engine,
                        const std::function<bool()>& isStopped) {
  std::vector<Command> taken;
  while (!isStopped()) {
    if (takeCommands(taken, engine.isIdle()))
      apply(std::move(taken), engine);
    taken.clear();
    std::vector<EngineUpdate> updates = std::move(refused);
    refused.clear();
    Status failure;
    if (!engine.isIdle()) {
      Expected<std::vector<Progress>> all = step(engine);
      failure = all.status();
      const auto now = std::chrono::steady_clock::now();
      for (size_t i = 0; all && i < all->size(); ++i) {
        Progress& each = (*all)[i];
        const auto found = tickets.find(each.request);
        if (found == tickets.end())
          continue;
        const Ticket ticket = found->second;
        if (each.finished) {
          requests.erase(ticket);
          tickets.erase(found);
        }
        updates.push_back(
            {.ticket = ticket, .progress = std::move(each), .time = now});
      }
    }
    publish(std::move(updates), engine, failure);
    RECIPERUN_TRY(failure);
  }
  return Status::ok();
}

std::chrono::steady_clock::duration EngineQueue::stepTime() {
  const std::lock_guard lock(mutex);
  return stepBegin ? std::chrono::steady_clock::now() - *stepBegin
                   : std::chrono::steady_clock::duration::zero();
}

Expected<std::vector<Progress>> EngineQueue::step(Engine& engine) {
  {
    const std::lock_guard lock(mutex);
    stepBegin = std::chrono::steady_clock::now();
  }
  Expected<std::vector<Progress>> made = stepSafely(engine);
  const std::lock_guard lock(mutex);
  stepBegin.reset();
  return made;
}

/// Waits for commands while the engine is idle. Returns whether there are any.
bool EngineQueue::takeCommands(std::vector<Command>& taken, bool isIdle) {
  std::unique_lock lock(mutex);
  if (isIdle)
    changed.wait_for(lock, idleTime, [this] { return !commands.empty(); });
  taken.swap(commands);
  return !taken.empty();
}

void EngineQueue::apply(std::vector<Command> taken, Engine& engine) {
  for (Command& command : taken) {
    if (command.cancels) {
      if (auto found = requests.find(command.ticket); found != requests.end())
        engine.cancel(found->second, command.reason);
      continue;
    }
    Expected<RequestId> id = submitSafely(engine, std::move(command.request));
    if (!id) {
      refused.push_back({.ticket = command.ticket, .refusal = id.status()});
      continue;
    }
    requests.emplace(command.ticket, *id);
    tickets.emplace(*id, command.ticket);
  }
}

void EngineQueue::publish(std::vector<EngineUpdate> updates,
                          const Engine& engine, const Status& failure) {
  const bool isNew = !updates.empty() || !failure.isOk();
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex);
    report.updates.insert(report.updates.end(),
                          std::make_move_iterator(updates.begin()),
                          std::make_move_iterator(updates.end()));
    report.statistics = engine.statistics();
    report.failure = failure;
    if (isNew)
      call = wake;
  }
  if (call)
    call();
}

} // namespace reciperun::server
