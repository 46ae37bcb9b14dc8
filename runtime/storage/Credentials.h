// The keys that sign requests, and where they come from. No message, log or
// file of this program contains them.

#ifndef RECIPERUN_STORAGE_CREDENTIALS_H
#define RECIPERUN_STORAGE_CREDENTIALS_H

#include "runtime/base/Status.h"
#include "runtime/storage/Http.h"
#include "runtime/storage/Profile.h"
#include "runtime/storage/Settings.h"

#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace reciperun::storage {

struct Credentials {
  std::string accessKey;
  std::string secretKey;
  std::string sessionToken;           // empty for keys of a user
  std::optional<std::time_t> expires; // nullopt: never
};

/// A place that gives credentials.
struct CredentialSource {
  std::string name; // for messages: `the environment`, `profile `a``
  std::function<Expected<Credentials>()> fetch;
};

/// Finds the first source that applies, in the order of AWS's tools:
///   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
///   2. AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (IRSA of EKS);
///   3. the profile in use: a role with `web_identity_token_file` or
///      `source_profile`, keys, or `credential_process`;
///   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (ECS, EKS Pod
///      Identity);
///   5. the instance metadata service (IMDSv2 of EC2), unless
///      AWS_EC2_METADATA_DISABLED is `true`.
/// Sends no request. Fails when a source is only half given. `http` must
/// outlive the source.
Expected<CredentialSource> findCredentials(const Environment& environment,
                                           const Profiles& profiles,
                                           const Settings& settings,
                                           HttpClient& http);

/// Keeps credentials and fetches new ones before they expire. Thread-safe.
class CredentialCache {
public:
  explicit CredentialCache(CredentialSource source)
      : source(std::move(source)) {}

  const std::string& sourceName() const { return source.name; }
  /// Fetches at first, and when those kept expire in less than five minutes.
  /// Where that fails, those kept are used until they expire.
  Expected<Credentials> get(std::time_t now);
  /// Forgets these: the store says that they have expired.
  void drop(const std::string& accessKey);

private:
  CredentialSource source;
  std::mutex mutex;
  std::optional<Credentials> kept;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_CREDENTIALS_H
