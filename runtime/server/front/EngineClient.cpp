// See EngineClient.h.

#include "runtime/server/front/EngineClient.h"

#include "runtime/base/Log.h"

#include <exception>
#include <utility>

namespace reciperun::server {

using serve::FinishReason;

Ticket EngineClient::submit(serve::Request request, Listener listener) {
  const Ticket ticket = queue.submit(std::move(request));
  listeners.emplace(ticket, std::move(listener));
  return ticket;
}

void EngineClient::cancel(Ticket ticket, FinishReason reason) {
  if (listeners.contains(ticket))
    queue.cancel(ticket, reason);
}

void EngineClient::takeReport() {
  EngineReport report = queue.takeReport();
  counts = report.statistics;
  for (EngineUpdate& update : report.updates)
    tellSafely(std::move(update));
  if (report.failure.isOk())
    return;
  broken = report.failure;
  failAll();
}

/// A listener that throws hears no more; the others are told.
void EngineClient::tellSafely(EngineUpdate update) {
  const Ticket ticket = update.ticket;
  try {
    tell(std::move(update));
  } catch (const std::exception& failure) { // memory is short
    logLine(LogLevel::error,
            "a request failed: " + std::string(failure.what()));
    cancel(ticket, FinishReason::cancelled);
    listeners.erase(ticket);
  }
}

void EngineClient::tell(EngineUpdate update) {
  const auto found = listeners.find(update.ticket);
  if (found == listeners.end())
    return;
  if (update.refusal.isOk() && !update.progress.finished)
    return found->second(std::move(update));
  const Listener listener = std::move(found->second);
  listeners.erase(found);
  listener(std::move(update));
}

void EngineClient::failAll() {
  std::vector<Ticket> all;
  for (const auto& [ticket, listener] : listeners)
    all.push_back(ticket);
  for (const Ticket ticket : all)
    tellSafely({.ticket = ticket,
                .progress = {.finished = FinishReason::failed,
                             .error = broken.message()}});
}

} // namespace reciperun::server
