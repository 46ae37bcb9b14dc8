// Signs requests: AWS Signature Version 4 ("Authenticating Requests
// (AWS Signature Version 4)", Amazon S3 API Reference).

#ifndef RECIPERUN_STORAGE_SIGNATURE_H
#define RECIPERUN_STORAGE_SIGNATURE_H

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::storage {

/// Names and values, in any order.
using NameValues = std::vector<std::pair<std::string, std::string>>;

/// Percent-encodes all but unreserved characters (RFC 3986, section 2.3).
std::string encodeText(std::string_view text);
/// Likewise, but keeps slashes.
std::string encodePath(std::string_view path);
/// `a=1&b=2`: encoded and sorted, as it is signed and sent.
std::string encodeQuery(const NameValues& query);

/// A request without its body.
struct RequestHead {
  std::string method;
  std::string host;   // with the port if it is not the scheme's
  std::string path;   // encoded
  NameValues query;   // not encoded
  NameValues headers; // names in lower case, without `host`
};

/// What signs: a pair of keys, and where they are used.
struct SigningKey {
  std::string accessKey;
  std::string secretKey;
  std::string region;
  std::string service; // `s3`, `sts`
};

/// `20130524T000000Z`, the value of `x-amz-date`.
std::string amzDate(std::time_t time);

/// The value of the header `authorization`. All given headers are signed; among
/// them must be `x-amz-date`. `payloadHash` is the value of
/// `x-amz-content-sha256`.
std::string authorization(const RequestHead& request,
                          const std::string& payloadHash, const SigningKey& key,
                          std::time_t time);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_SIGNATURE_H
