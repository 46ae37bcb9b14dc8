// Sends requests to an object store that speaks the S3 API: signs them, sends
// them again after failures that may pass, and explains those that remain.

#ifndef RECIPERUN_STORAGE_S3CLIENT_H
#define RECIPERUN_STORAGE_S3CLIENT_H

#include "runtime/storage/Address.h"
#include "runtime/storage/Credentials.h"
#include "runtime/storage/Http.h"
#include "runtime/storage/Settings.h"
#include "runtime/storage/TaskPool.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::storage {

/// An operation on an object, or on a bucket where the key is empty.
struct S3Request {
  std::string action; // for messages: `read`, `write`, `list`
  std::string method = "GET";
  Address address;
  /// Of a request to the bucket: the key of the folder that it is about, for
  /// messages.
  std::string folder = {};
  NameValues query;
  NameValues headers; // names in lower case
  std::span<const std::byte> body;
  /// Reads `into.size()` bytes from `offset`, if offset is not negative, of the
  /// object with this ETag.
  int64_t offset = -1;
  std::span<std::byte> into;
  std::string etag;
  size_t bodyLimit = size_t(64) << 20;
  /// The store may report a failure in an answer 200 (CompleteMultipartUpload).
  bool mayFailLate = false;

  bool changesStore() const { return method != "GET" && method != "HEAD"; }
  /// `s3://bucket/key` of the object or folder.
  std::string place() const;
};

/// The last answer to a request.
struct S3Answer {
  HttpAnswer http;
  std::string code; // of an error: `NoSuchKey`; empty if the answer names none
  std::string reason;  // the store's explanation, without credentials
  size_t received = 0; // bytes in S3Request::into, of all attempts
  /// An earlier attempt failed in a way that leaves open whether it took
  /// effect.
  bool mayHaveHappened = false;

  bool isSuccess() const { return http.isSuccess() && code.empty(); }
  int status() const { return http.status; }
};

/// Thread-safe.
class S3Client {
public:
  S3Client(Settings settings, CredentialSource source,
           std::shared_ptr<HttpClient> http);

  /// The client of this process's environment, made at the first call.
  static Expected<std::shared_ptr<S3Client>> shared();

  const Settings& settings() const { return set; }
  const std::string& credentialSource() const {
    return credentials.sourceName();
  }
  TaskPool& pool() { return threads; }
  /// `https://host` of the requests to a bucket, for messages.
  std::string endpointOf(const std::string& bucket) const;

  /// Returns the store's answer, also a refusal. Fails when there is none after
  /// all attempts.
  Expected<S3Answer> send(const S3Request& request);

  /// Explains an answer that is no success.
  Status failure(const S3Request& request, const S3Answer& answer) const;
  /// Like `send`, but an answer that is no success is a failure, too.
  Expected<S3Answer> demand(const S3Request& request);

private:
  struct Attempts;
  struct Target {
    std::string url, host, path;
  };

  Target targetOf(const Address& address) const;
  std::string regionOf(const std::string& bucket) const;
  HttpRequest sign(const S3Request& request, Attempts& attempts) const;
  Expected<S3Answer> sendOnce(const S3Request& request, Attempts& attempts);
  bool mayRepair(const S3Request& request, const S3Answer& answer,
                 Attempts& attempts);
  Status exhausted(const S3Request& request, const S3Answer& answer,
                   int attempts) const;

  Settings set;
  std::shared_ptr<HttpClient> http;
  CredentialCache credentials;
  /// Of the store's clock against ours, in seconds.
  std::atomic<std::time_t> clockOffset = 0;
  mutable std::mutex mutex;
  std::map<std::string, std::string> regions; // of buckets elsewhere
  TaskPool threads;                           // last: its tasks use the others
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_S3CLIENT_H
