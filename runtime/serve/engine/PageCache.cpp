// See PageCache.h.

#include "runtime/serve/engine/PageCache.h"

namespace reciperun::serve {

int32_t PageCache::take() {
  const std::optional<Hash> evicted = device.nextEvicted();
  const int32_t page = device.take();
  if (evicted)
    keep(page, *evicted);
  return page;
}

/// Keeps the contents of a page of the device that is about to be overwritten.
void PageCache::keep(int32_t page, const Hash& key) {
  std::optional<int32_t> hostPage = host.share(key);
  if (!hostPage) {
    if (host.available() == 0)
      return;
    hostPage = host.take();
    host.publish(*hostPage, key);
    copies.push_back({page, *hostPage, /*isToHost=*/true});
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
