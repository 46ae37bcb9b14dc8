// Asks the metadata service of a cloud's host, an HTTP server at an address of
// the host alone.

#ifndef RECIPERUN_TRAIN_SPOT_METADATASERVICE_H
#define RECIPERUN_TRAIN_SPOT_METADATASERVICE_H

#include "runtime/base/Status.h"
#include "runtime/storage/Http.h"

#include <memory>
#include <string>

namespace reciperun::train {

struct MetadataRequest {
  std::string method = "GET";
  std::string path; // `/latest/api/token`
  storage::NameValues headers = {};
};

class MetadataService {
public:
  /// `address` is `http://HOST[:PORT]`. A request fails after `seconds` without
  /// an answer.
  static Expected<MetadataService> at(const std::string& address, int seconds);

  /// Waits for the answer, of any status.
  Expected<storage::HttpAnswer> ask(const MetadataRequest& request) const;
  /// The body of an answer with status 200; fails with another status.
  Expected<std::string> read(const MetadataRequest& request) const;
  /// An answer that read() does not take, as a failure.
  Status refused(const MetadataRequest& request,
                 const storage::HttpAnswer& answer) const;

private:
  MetadataService() = default;

  std::string address;
  int limit = 0; // seconds
  std::shared_ptr<storage::HttpClient> http;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SPOT_METADATASERVICE_H
