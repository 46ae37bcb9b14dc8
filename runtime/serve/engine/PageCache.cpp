// See PageCache.h.

#include "runtime/serve/engine/PageCache.h"

#include <algorithm>

namespace reciperun::serve {

int32_t PageCache::take() {
  device.visitNextEvicted(
      1, [&](int32_t page, const Hash& key) { keep(page, key, copies); });
  return device.take();
}

// More pages than the host has would overwrite one another, in each step anew.
std::vector<PageCopy> PageCache::saveAhead(int64_t pages) {
  std::vector<PageCopy> saves;
  device.visitNextEvicted(
      std::min(pages, host.size()),
      [&](int32_t page, const Hash& key) { keep(page, key, saves); });
  return saves;
}

/// Keeps the contents of a page of the device on the host. Adds the copy to
/// `by` if one is needed.
void PageCache::keep(int32_t page, const Hash& key, std::vector<PageCopy>& by) {
  std::optional<int32_t> hostPage = host.share(key);
  if (!hostPage) {
    if (host.available() == 0)
      return;
    hostPage = host.take();
    host.publish(*hostPage, key);
    by.push_back({page, *hostPage, /*isToHost=*/true});
  }
  host.release(*hostPage); // now the most recently used
}

void PageCache::forget(int32_t page) {
  if (const std::optional<Hash> key = device.keyOf(page))
    if (const std::optional<int32_t> hostPage = host.share(*key)) {
      host.forget(*hostPage);
      host.release(*hostPage);
    }
  device.forget(page);
}

void PageCache::restore(int32_t hostPage, int32_t page, const Hash& key) {
  copies.push_back({page, hostPage, /*isToHost=*/false});
  device.publish(page, key);
}

} // namespace reciperun::serve
