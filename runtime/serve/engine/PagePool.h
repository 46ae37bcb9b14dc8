// The pages of the KV cache: which sequences hold them, and which prefix each
// one stores.
//
// A page is free, held by one or more sequences (reference-counted), or cached:
// no sequence holds it, but it can still be found by its key. Sequences with a
// common prefix hold the same pages. Only full pages are shared, so that no
// page is written by two sequences.
//
// The key of a page is the hash of the previous page's key and of the page's
// tokens. Equal keys therefore mean equal tokens from the start of the sequence
// on, at the same positions. When no page is free, the cached page that was
// released first is reused.

#ifndef RECIPERUN_SERVE_ENGINE_PAGEPOOL_H
#define RECIPERUN_SERVE_ENGINE_PAGEPOOL_H

#include "runtime/base/Hash.h"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace reciperun::serve {

/// The key of the page that holds `tokens` and follows the page `previous`,
/// which is Sequence::cacheRoot for a sequence's first page. XXH3-128.
Hash pageKey(const Hash& previous, std::span<const int32_t> tokens);

class PagePool {
public:
  /// `pages` free pages, numbered from 0.
  explicit PagePool(int64_t pages);

  int64_t size() const { return int64_t(states.size()); }
  /// The number of pages that take() can give: free and cached ones.
  int64_t available() const { return int64_t(free.size()) + cached; }
  /// The number of pages that sequences hold.
  int64_t held() const { return size() - available(); }
  /// How many cached pages were given to sequences with other contents.
  int64_t evictions() const { return evicted; }

  /// Calls `visit(page, key)` for each cached page that the next `takes` calls
  /// of take() would give, in that order.
  template <class Visit>
  void visitNextEvicted(int64_t takes, const Visit& visit) const {
    takes -= int64_t(free.size());
    for (int32_t page = oldest; takes > 0 && page != none; --takes) {
      const State& state = states[size_t(page)];
      visit(page, state.key);
      page = state.after;
    }
  }
  /// Gives a page with undefined contents to a sequence. `available()` must be
  /// at least 1.
  int32_t take();
  /// Adds a holder to the page with this key; nullopt when there is none.
  std::optional<int32_t> share(const Hash& key);
  /// Makes a held page findable by its key. Does nothing when another page
  /// already has the key.
  void publish(int32_t page, const Hash& key);
  /// The key by which the page can be found; nullopt when it has none.
  std::optional<Hash> keyOf(int32_t page) const;
  /// Makes a held page unfindable, because its contents are wrong.
  void forget(int32_t page);
  /// Removes a holder of the page.
  void release(int32_t page);

private:
  static constexpr int32_t none = -1;

  struct State {
    int32_t holders = 0;
    bool hasKey = false;
    Hash key;
    /// Its neighbors in the list of cached pages, which is in the order of
    /// release.
    int32_t before = none, after = none;
  };
  struct KeyHash {
    size_t operator()(const Hash& key) const { return size_t(key.low); }
  };

  void appendCached(int32_t page);
  void removeCached(int32_t page);

  std::vector<State> states;
  std::vector<int32_t> free; // taken from the end
  int32_t oldest = none, newest = none;
  int64_t cached = 0;
  int64_t evicted = 0;
  std::unordered_map<Hash, int32_t, KeyHash> byKey;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_PAGEPOOL_H
