// The pages of the cache on the device, and pages of the host that keep what
// the device has no room for.
//
// The cached pages that may be evicted soon are copied to pages of the host
// while a step runs. A page that is evicted earlier than foreseen is copied
// before the step that overwrites it. A page of the host is found by the same
// key, and copied into a page of the device before the step that reads it. When
// no page of the host is free, the one that was used least recently is
// overwritten.
//
// Copies belong to a step, and each rank makes them in order. Ranks have their
// parts of a page in the same pages.

#ifndef RECIPERUN_SERVE_ENGINE_PAGECACHE_H
#define RECIPERUN_SERVE_ENGINE_PAGECACHE_H

#include "runtime/serve/engine/PagePool.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// A copy of a page between the device and the host.
struct PageCopy {
  int32_t page = 0, hostPage = 0;
  bool isToHost = false;

  bool operator==(const PageCopy&) const = default;
};

class PageCache {
public:
  /// `pages` free pages of the device and `hostPages` of the host.
  PageCache(int64_t pages, int64_t hostPages)
      : device(pages), host(hostPages) {}

  const PagePool& pages() const { return device; }
  const PagePool& pagesOfHost() const { return host; }

  /// As PagePool::take(), of a page of the device.
  int32_t take();
  /// As PagePool's, of pages of the device.
  std::optional<int32_t> share(const Hash& key) { return device.share(key); }
  void publish(int32_t page, const Hash& key) { device.publish(page, key); }
  void release(int32_t page) { device.release(page); }
  /// Makes a held page unfindable, also on the host.
  void forget(int32_t page);

  /// Adds a holder to the page of the host with this key; nullopt when there is
  /// none. A held page of the host is not overwritten.
  std::optional<int32_t> shareOnHost(const Hash& key) {
    return host.share(key);
  }
  void releaseOnHost(int32_t hostPage) { host.release(hostPage); }
  /// Copies a held page of the host into a held page of the device, which can
  /// then be found by the key.
  void restore(int32_t hostPage, int32_t page, const Hash& key);

  /// The copies since the last call, to be made before the next step.
  std::vector<PageCopy> takeCopies() { return std::exchange(copies, {}); }
  /// The copies to the host of those pages that `pages` calls of take() would
  /// evict and that are not there yet. They are made after takeCopies()'s and
  /// before those of the step after the next.
  std::vector<PageCopy> saveAhead(int64_t pages);

private:
  void keep(int32_t page, const Hash& key, std::vector<PageCopy>& by);

  PagePool device, host;
  std::vector<PageCopy> copies;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_PAGECACHE_H
