// See EngineQueue.h.

#include "runtime/server/front/EngineQueue.h"

#include <iterator>

namespace reciperun::server {
namespace {

using serve::Engine;
using serve::Progress;
using serve::RequestId;

/// How often an idle engine asks whether it is to stop.
constexpr auto idleTime = std::chrono::milliseconds(50);

} // namespace

void EngineQueue::setWake(std::function<void()> given) {
  const std::lock_guard lock(mutex);
  wake = std::move(given);
}

Ticket EngineQueue::submit(serve::Request request) {
  const std::lock_guard lock(mutex);
  orders.push_back({.ticket = next, .request = std::move(request)});
  changed.notify_one();
  return next++;
}

void EngineQueue::cancel(Ticket ticket, serve::FinishReason reason) {
  const std::lock_guard lock(mutex);
  orders.push_back({.ticket = ticket, .cancels = true, .reason = reason});
  changed.notify_one();
}

EngineNews EngineQueue::takeNews() {
  const std::lock_guard lock(mutex);
  EngineNews taken = {
      .updates = {}, .statistics = news.statistics, .failure = news.failure};
  taken.updates.swap(news.updates);
  return taken;
}

Status EngineQueue::run(Engine& engine,
                        const std::function<bool()>& isStopped) {
  std::vector<Order> taken;
  while (!isStopped()) {
    if (takeOrders(taken, engine.isIdle()))
      obey(std::move(taken), engine);
    taken.clear();
    std::vector<EngineUpdate> updates = std::move(refused);
    refused.clear();
    Status failure;
    if (!engine.isIdle()) {
      Expected<std::vector<Progress>> all = engine.step();
      failure = all.status();
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
        updates.push_back({.ticket = ticket, .progress = std::move(each)});
      }
    }
    note(std::move(updates), engine, failure);
    RECIPERUN_TRY(failure);
  }
  return Status::ok();
}

/// Waits for orders while the engine is idle. Returns whether there are any.
bool EngineQueue::takeOrders(std::vector<Order>& taken, bool isIdle) {
  std::unique_lock lock(mutex);
  if (isIdle)
    changed.wait_for(lock, idleTime, [this] { return !orders.empty(); });
  taken.swap(orders);
  return !taken.empty();
}

void EngineQueue::obey(std::vector<Order> taken, Engine& engine) {
  for (Order& order : taken) {
    if (order.cancels) {
      if (auto found = requests.find(order.ticket); found != requests.end())
        engine.cancel(found->second, order.reason);
      continue;
    }
    Expected<RequestId> id = engine.submit(std::move(order.request));
    if (!id) {
      refused.push_back({.ticket = order.ticket, .refusal = id.status()});
      continue;
    }
    requests.emplace(order.ticket, *id);
    tickets.emplace(*id, order.ticket);
  }
}

void EngineQueue::note(std::vector<EngineUpdate> updates, const Engine& engine,
                       const Status& failure) {
  const bool isNews = !updates.empty() || !failure.isOk();
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex);
    news.updates.insert(news.updates.end(),
                        std::make_move_iterator(updates.begin()),
                        std::make_move_iterator(updates.end()));
    news.statistics = engine.statistics();
    news.failure = failure;
    if (isNews)
      call = wake;
  }
  if (call)
    call();
}

} // namespace reciperun::server
