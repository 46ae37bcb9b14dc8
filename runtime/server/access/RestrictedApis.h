// APIs that need a header with a secret, as Triton's option
// `--http-restricted-api` sets them.

#ifndef RECIPERUN_SERVER_ACCESS_RESTRICTEDAPIS_H
#define RECIPERUN_SERVER_ACCESS_RESTRICTEDAPIS_H

#include "runtime/base/Status.h"
#include "runtime/server/access/Digest.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::server {

/// The groups of endpoints, with Triton's names.
enum class Api {
  health,
  metadata,
  inference,
  sharedMemory,
  modelConfig,
  modelRepository,
  statistics,
  trace,
  logging
};

/// The group of a path of KServe's or OpenAI's API; nullopt for others. Of
/// OpenAI's, completions, embeddings and tokens are `inference`, models are
/// `metadata`.
std::optional<Api> apiOf(std::string_view path);

class RestrictedApis {
public:
  /// Adds the value of an option: `<api>,<api>:<key>=<value>`. Fails for an
  /// unknown API, for one that is restricted already, and for another form.
  Status add(std::string_view option);

  /// The name of the header that a request needs but lacks or has with another
  /// value. `headerOf` returns the value of a header by its name in lower case.
  std::optional<std::string>
  missingHeader(std::string_view path,
                const std::function<const std::string&(const std::string&)>&
                    headerOf) const;

private:
  struct Rule {
    std::string key; // as it was written
    Digest value;
  };
  std::map<Api, Rule> rules;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_RESTRICTEDAPIS_H
