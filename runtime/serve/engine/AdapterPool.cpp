// See AdapterPool.h.

#include "runtime/serve/engine/AdapterPool.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::serve {

AdapterPool::AdapterPool(int64_t places) : holders(size_t(places), noAdapter) {}

AdapterId AdapterPool::add() {
  adapters.emplace(nextId, Adapter());
  return nextId++;
}

void AdapterPool::remove(AdapterId adapter) {
  adapters.at(adapter).isLeaving = true;
  removeUnused(adapter);
}

void AdapterPool::beginRequest(AdapterId adapter) {
  if (adapter != noAdapter)
    ++adapters.at(adapter).requests;
}

void AdapterPool::endRequest(AdapterId adapter) {
  if (adapter == noAdapter)
    return;
  --adapters.at(adapter).requests;
  removeUnused(adapter);
}

void AdapterPool::removeUnused(AdapterId adapter) {
  const Adapter& each = adapters.at(adapter);
  if (!each.isLeaving || each.requests > 0)
    return;
  assert(each.running == 0 && "a running sequence is of a request");
  if (each.place >= 0)
    holders[size_t(each.place)] = noAdapter;
  std::erase_if(
      loads, [&](const AdapterLoad& load) { return load.adapter == adapter; });
  adapters.erase(adapter);
  removed.push_back(adapter);
}

bool AdapterPool::canAcquire(AdapterId adapter) const {
  return adapter == noAdapter || placeOf(adapter) >= 0 || placeFor() >= 0;
}

bool AdapterPool::acquire(AdapterId adapter) {
  if (adapter == noAdapter)
    return true;
  Adapter& each = adapters.at(adapter);
  if (each.place < 0) {
    const int place = placeFor();
    if (place < 0)
      return false;
    AdapterId& holder = holders[size_t(place)];
    if (holder != noAdapter)
      adapters.at(holder).place = -1;
    holder = adapter;
    each.place = place;
    // If a place is assigned twice before a step, load only the last adapter.
    std::erase_if(loads,
                  [&](const AdapterLoad& load) { return load.place == place; });
    loads.push_back({adapter, place});
  }
  ++each.running;
  each.lastUse = ++uses;
  return true;
}

/// A free place, else the place of the least recently used adapter that no
/// running sequence uses; -1 when there is none.
int AdapterPool::placeFor() const {
  int best = -1;
  int64_t bestUse = 0;
  for (size_t place = 0; place < holders.size(); ++place) {
    if (holders[place] == noAdapter)
      return int(place);
    const Adapter& holder = adapters.at(holders[place]);
    if (holder.running > 0 || (best >= 0 && holder.lastUse >= bestUse))
      continue;
    best = int(place);
    bestUse = holder.lastUse;
  }
  return best;
}

void AdapterPool::release(AdapterId adapter) {
  if (adapter != noAdapter)
    --adapters.at(adapter).running;
}

int AdapterPool::placeOf(AdapterId adapter) const {
  const auto found = adapters.find(adapter);
  return found == adapters.end() ? -1 : found->second.place;
}

int64_t AdapterPool::waitingForPlace() const {
  if (placeFor() >= 0)
    return 0;
  int64_t waiting = 0;
  for (const auto& [id, adapter] : adapters)
    if (adapter.place < 0)
      waiting += adapter.requests - adapter.running;
  return waiting;
}

std::vector<AdapterLoad> AdapterPool::takeLoads() {
  return std::exchange(loads, {});
}

std::vector<AdapterId> AdapterPool::takeRemoved() {
  return std::exchange(removed, {});
}

} // namespace reciperun::serve
