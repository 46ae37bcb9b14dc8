// See EngineClient.h.

#include "runtime/server/front/EngineClient.h"

#include "runtime/base/Log.h"

#include <exception>
#include <utility>

namespace reciperun::server {

using serve::FinishReason;

Ticket EngineClient::submit(serve::Request request, Listener listener,
                            RequestOrigin origin) {
  std::optional<AnswerMeter> meter;
  if (metrics)
    meter.emplace(*metrics, request, std::move(origin), AnswerMeter::now());
  const Ticket ticket = queue.submit(std::move(request));
  open.emplace(ticket, Open{std::move(listener), std::move(meter)});
  return ticket;
}

void EngineClient::cancel(Ticket ticket, FinishReason reason) {
  const auto found = open.find(ticket);
  if (found == open.end())
    return;
  if (found->second.meter)
    found->second.meter->end(endOf(reason), AnswerMeter::now());
  queue.cancel(ticket, reason);
}

void EngineClient::takeReport() {
  EngineReport report = queue.takeReport();
  counts = report.statistics;
  for (EngineUpdate& update : report.updates)
    tellSafely(std::move(update));
  if (!report.failure.isOk())
    fail(report.failure);
}

void EngineClient::fail(const Status& failure) {
  if (!broken.isOk())
    return;
  broken = failure;
  failAll();
}

Status EngineClient::health() const {
  RECIPERUN_TRY(broken);
  return queue.stepTime() > stallTime
             ? Status::error("a step of the engine does not end",
                             StatusCode::unavailable)
             : Status::ok();
}

/// If a listener throws, it gets no more updates; the other listeners do.
void EngineClient::tellSafely(EngineUpdate update) {
  const Ticket ticket = update.ticket;
  try {
    tell(std::move(update));
  } catch (const std::exception& failure) { // memory is short
    logLine(LogLevel::error,
            "a request failed: " + std::string(failure.what()));
    cancel(ticket, FinishReason::cancelled);
    open.erase(ticket);
  }
}

void EngineClient::tell(EngineUpdate update) {
  const auto found = open.find(update.ticket);
  if (found == open.end())
    return;
  Open& request = found->second;
  if (request.meter && update.refusal.isOk())
    request.meter->take(update.progress, update.time, AnswerMeter::now());
  if (update.refusal.isOk() && !update.progress.finished)
    return request.listener(std::move(update));
  const Listener listener = std::move(request.listener);
  open.erase(found);
  listener(std::move(update));
}

void EngineClient::failAll() {
  std::vector<Ticket> all;
  for (auto& [ticket, request] : open) {
    if (request.meter)
      request.meter->end(AnswerEnd::error, AnswerMeter::now());
    all.push_back(ticket);
  }
  for (const Ticket ticket : all)
    tellSafely({.ticket = ticket,
                .progress = {.finished = FinishReason::failed,
                             .error = broken.message()}});
}

} // namespace reciperun::server
