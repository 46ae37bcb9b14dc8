// See EngineClient.h.

#include "runtime/server/front/EngineClient.h"

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
    tell(std::move(update));
  if (report.failure.isOk())
    return;
  broken = report.failure;
  failAll();
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
  for (const auto& [ticket, listener] : std::exchange(listeners, {}))
    listener({.ticket = ticket,
              .progress = {.finished = FinishReason::failed,
                           .error = broken.message()}});
}

} // namespace reciperun::server
