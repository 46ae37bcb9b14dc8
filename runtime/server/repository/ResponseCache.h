// Caches the responses of models whose configuration asks for it
// (response_cache.enable). When they exceed the size of the cache, the least
// recently read one is evicted.

#ifndef RECIPERUN_SERVER_REPOSITORY_RESPONSECACHE_H
#define RECIPERUN_SERVER_REPOSITORY_RESPONSECACHE_H

#include "runtime/server/models/InferRequest.h"

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reciperun::server {

/// Belongs to the server's thread.
class ResponseCache {
public:
  /// A cache of 0 bytes keeps nothing.
  explicit ResponseCache(size_t mostBytes) : mostBytes(mostBytes) {}

  bool isEnabled() const { return mostBytes > 0; }

  /// The key: everything in a request on which its outputs depend. It is the
  /// text itself, not a hash, so that no two different requests share a
  /// response.
  static std::string keyOf(const InferRequest& request, int64_t version);

  /// The outputs of a request; null where they are not kept.
  const std::vector<Tensor>* find(const std::string& key);
  /// Keeps outputs, unless they are larger than the cache.
  void insert(const std::string& key, const std::vector<Tensor>& outputs);

  size_t bytes() const { return usedBytes; }

private:
  struct Entry {
    std::string key;
    std::vector<Tensor> outputs;
    size_t bytes = 0;
  };

  size_t mostBytes, usedBytes = 0;
  std::list<Entry> entries; // the last one read first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> byKey;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_RESPONSECACHE_H
