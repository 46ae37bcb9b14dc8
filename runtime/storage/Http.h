// Sends HTTP requests, by libcurl. Connections are kept and used again.

#ifndef RECIPERUN_STORAGE_HTTP_H
#define RECIPERUN_STORAGE_HTTP_H

#include "runtime/storage/Signature.h"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace reciperun::storage {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  NameValues headers;
  std::span<const std::byte> body; // of PUT and POST
  /// Where the body of an answer 2xx goes; null data: into HttpAnswer::body.
  std::span<std::byte> into;
  size_t bodyLimit = size_t(64) << 20; // of HttpAnswer::body
  std::string caBundle;                // empty: the system's certificates
  double connectSeconds = 10;
  double stallSeconds = 30; // without a byte in either direction
  double totalSeconds = 0;  // 0: no limit
  bool avoidsProxy = false; // for services of the own host
};

struct HttpAnswer {
  /// Why there is no complete answer; empty when there is one. May be filled
  /// although `status` is known and bytes have been received.
  std::string failure;
  /// Whether the same request may succeed later.
  bool isTransient = false;
  int status = 0;
  std::map<std::string, std::string> headers; // names in lower case
  std::string body;
  size_t received = 0; // bytes written to HttpRequest::into
  /// The request was sent twice, since a kept connection was closed: the first
  /// one may have been carried out.
  bool isRepeated = false;

  bool isComplete() const { return failure.empty(); }
  bool isSuccess() const {
    return isComplete() && status >= 200 && status < 300;
  }
  /// A header's value; empty when there is none.
  std::string header(const std::string& name) const;
};

/// Thread-safe.
class HttpClient {
public:
  HttpClient();
  ~HttpClient();

  /// Waits for the answer. Follows no redirections.
  HttpAnswer send(const HttpRequest& request);

private:
  struct Idle;
  std::unique_ptr<Idle> idle;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_HTTP_H
