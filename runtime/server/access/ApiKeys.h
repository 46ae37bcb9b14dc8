// The API keys that a server accepts.
//
// A file has one key per line, stored as its SHA-256 hash, so that whoever
// reads the file cannot use the key. After it come these words, in any order:
//
//     # name, concurrent requests and tokens per minute; all are optional
//     2c26b46b...7ae  name=search requests=8 tokens-per-minute=20000
//
// Several keys may have the same name: they share its limits, which must be
// equal.

#ifndef RECIPERUN_SERVER_ACCESS_APIKEYS_H
#define RECIPERUN_SERVER_ACCESS_APIKEYS_H

#include "runtime/base/Status.h"
#include "runtime/server/access/ApiClient.h"
#include "runtime/server/access/Digest.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::server {

/// A line of a file of keys.
struct ApiKey {
  Digest digest;
  std::string name;
  ClientLimits limits;
};

/// Reads the text of a file of keys. Fails, naming the line but none of its
/// words, which may be a key by mistake.
Expected<std::vector<ApiKey>> readApiKeys(std::string_view text);

/// Belongs to the server's thread.
class ApiKeys {
public:
  ApiKeys() = default;

  /// Uses the plain keys `given` and the keys of `file`, unless its name is
  /// empty. Fails as readApiKeys does, and for an empty file.
  static Expected<ApiKeys> open(const std::vector<std::string>& given,
                                std::string file);
  /// Reads the file again. Clients that are still in it keep their counts.
  /// After a failure the previous keys stay in use.
  Status reload();

  /// Whether requests need a key.
  bool areNeeded() const { return !keys.empty(); }
  /// The client of a key; null for a wrong one. The time depends on the number
  /// of keys and the length of `key` alone.
  std::shared_ptr<ApiClient> find(std::string_view key) const;

private:
  void take(const std::vector<ApiKey>& all);

  std::vector<ApiKey> fixed; // the given ones, not from the file
  std::string file;
  std::map<std::string, std::shared_ptr<ApiClient>> clients; // by name
  std::vector<std::pair<Digest, std::shared_ptr<ApiClient>>> keys;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_APIKEYS_H
