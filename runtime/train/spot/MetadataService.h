// Asks the metadata service of a cloud's host, an HTTP server at an address of
// the host alone.

#ifndef RECIPERUN_TRAIN_SPOT_METADATASERVICE_H
#define RECIPERUN_TRAIN_SPOT_METADATASERVICE_H

#include "runtime/base/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

enum class Method { get, put };

struct MetadataRequest {
  Method method = Method::get;
  std::string path; // `/latest/api/token`
  std::vector<std::pair<std::string, std::string>> headers;
};

struct MetadataAnswer {
  int status = 0; // of HTTP
  std::string body;
};

class MetadataService {
public:
  /// `address` is `http://HOST[:PORT]`. A request fails after `seconds` without
  /// an answer.
  static Expected<MetadataService> at(const std::string& address, int seconds);

  /// Waits for the answer, of any status.
  Expected<MetadataAnswer> ask(const MetadataRequest& request) const;
  /// The body of an answer with status 200; fails with another status.
  Expected<std::string> read(const MetadataRequest& request) const;
  /// An answer that read() does not take, as a failure.
  Status refused(const MetadataRequest& request,
                 const MetadataAnswer& answer) const;

private:
  MetadataService() = default;

  std::string host;
  int port = 80;
  int limit = 0; // seconds
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SPOT_METADATASERVICE_H
