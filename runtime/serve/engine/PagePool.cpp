// Cached pages are a doubly linked list, so that a page leaves it in constant
// time when it is shared again.

#include "runtime/serve/engine/PagePool.h"

#include <cassert>

namespace reciperun::serve {

Hash pageKey(const Hash& previous, std::span<const int32_t> tokens) {
  Hasher hasher;
  const uint64_t words[] = {previous.high, previous.low};
  hasher.add(std::as_bytes(std::span(words)));
  hasher.add(std::as_bytes(tokens));
  return hasher.hash();
}

PagePool::PagePool(int64_t pages) : states(size_t(pages)) {
  free.reserve(states.size());
  for (int64_t page = pages; page-- > 0;)
    free.push_back(int32_t(page));
}

std::optional<Hash> PagePool::keyOf(int32_t page) const {
  const State& state = states[size_t(page)];
  return state.hasKey ? std::optional(state.key) : std::nullopt;
}

int32_t PagePool::take() {
  assert(available() > 0 && "a page is taken only where one is available");
  int32_t page = oldest;
  if (!free.empty()) {
    page = free.back();
    free.pop_back();
  } else {
    removeCached(page);
    forget(page);
    ++evicted;
  }
  states[size_t(page)].holders = 1;
  return page;
}

std::optional<int32_t> PagePool::share(const Hash& key) {
  auto found = byKey.find(key);
  if (found == byKey.end())
    return std::nullopt;
  const int32_t page = found->second;
  if (states[size_t(page)].holders++ == 0)
    removeCached(page);
  return page;
}

void PagePool::publish(int32_t page, const Hash& key) {
  State& state = states[size_t(page)];
  assert(state.holders > 0 && "only a held page is published");
  if (state.hasKey || !byKey.emplace(key, page).second)
    return;
  state.hasKey = true;
  state.key = key;
}

void PagePool::forget(int32_t page) {
  State& state = states[size_t(page)];
  if (state.hasKey)
    byKey.erase(state.key);
  state.hasKey = false;
}

void PagePool::release(int32_t page) {
  State& state = states[size_t(page)];
  assert(state.holders > 0 && "only a held page is released");
  if (--state.holders > 0)
    return;
  if (state.hasKey)
    appendCached(page);
  else
    free.push_back(page);
}

void PagePool::appendCached(int32_t page) {
  State& state = states[size_t(page)];
  state.before = newest;
  state.after = none;
  (newest == none ? oldest : states[size_t(newest)].after) = page;
  newest = page;
  ++cached;
}

void PagePool::removeCached(int32_t page) {
  const State& state = states[size_t(page)];
  (state.before == none ? oldest : states[size_t(state.before)].after) =
      state.after;
  (state.after == none ? newest : states[size_t(state.after)].before) =
      state.before;
  --cached;
}

} // namespace reciperun::serve
