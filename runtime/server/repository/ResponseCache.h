// Keeps the responses of models whose configuration asks for it
// (response_cache.enable), until they have more bytes than it may use: then the
// one that was not read for longest goes.

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

  /// All of a request on which its outputs depend. It is the whole text, not a
  /// hash of it, so that no two requests share a response.
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
