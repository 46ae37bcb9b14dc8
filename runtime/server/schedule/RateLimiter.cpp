// See RateLimiter.h.

#include "runtime/server/schedule/RateLimiter.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {

RateLimiter::RateLimiter(std::map<std::string, uint64_t> capacity)
    : capacity(std::move(capacity)) {}

RateLimiter::Instance::Instance(RateLimiter& limiter, Needs needs,
                                uint64_t priority)
    : limiter(limiter), needs(std::move(needs)),
      priority(std::max<uint64_t>(1, priority)) {
  limiter.instances.push_back(this);
}

RateLimiter::Instance::~Instance() {
  finish();
  limiter.instances.remove(this);
}

bool RateLimiter::Instance::canStart(std::function<void()> whenFree) {
  if (limiter.has(needs))
    return true;
  waiting = std::move(whenFree);
  return false;
}

void RateLimiter::Instance::start() {
  for (const auto& [resource, count] : needs)
    limiter.used[resource] += count;
  runs = true;
  ++executions;
  waiting = {};
}

void RateLimiter::Instance::finish() {
  if (!std::exchange(runs, false))
    return;
  for (const auto& [resource, count] : needs)
    limiter.used[resource] -= count;
  limiter.wakeNext();
}

uint64_t RateLimiter::capacityOf(const std::string& resource) const {
  if (const auto given = capacity.find(resource); given != capacity.end())
    return given->second;
  uint64_t most = 0;
  for (const Instance* each : instances)
    if (const auto need = each->needs.find(resource); need != each->needs.end())
      most = std::max(most, need->second);
  return most;
}

bool RateLimiter::has(const Needs& needs) const {
  return std::ranges::all_of(needs, [this](const auto& need) {
    const auto now = used.find(need.first);
    return (now == used.end() ? 0 : now->second) + need.second <=
           capacityOf(need.first);
  });
}

/// Lets all waiting instances try again, the next one first, after resources
/// have become free.
void RateLimiter::wakeNext() {
  std::vector<Instance*> waiting;
  for (Instance* each : instances)
    if (each->waiting)
      waiting.push_back(each);
  std::ranges::stable_sort(waiting, {}, [](const Instance* each) {
    return each->executions * each->priority;
  });
  for (Instance* each : waiting)
    if (has(each->needs))
      if (auto then = std::exchange(each->waiting, {}))
        then();
}

} // namespace reciperun::server
