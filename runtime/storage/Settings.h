// Where and how to reach object stores, as AWS's tools are told.

#ifndef RECIPERUN_STORAGE_SETTINGS_H
#define RECIPERUN_STORAGE_SETTINGS_H

#include "runtime/base/Status.h"
#include "runtime/storage/Profile.h"

#include <cstdint>
#include <string>

namespace reciperun::storage {

struct Settings {
  /// `https://host:port`, without a slash at the end; empty: Amazon S3.
  std::string endpoint;
  std::string stsEndpoint; // likewise, of Amazon STS
  std::string region = "us-east-1";
  /// The bucket is in the path rather than in the host's name.
  bool pathStyle = false;
  std::string caBundle; // a file of certificates; empty: the system's
  /// Sends and compares CRC32C checksums.
  bool checksums = true;

  /// Times that a request is sent before its failure is reported.
  int attempts = 10;
  double connectSeconds = 10;
  /// A transfer that moves no bytes for this long has failed.
  double stallSeconds = 30;
  /// Waits before further attempts are random, below a bound that begins here
  /// and doubles up to 20 s.
  double backoffSeconds = 0.1;

  int connections = 16; // at once
  int64_t partBytes = int64_t(16) << 20;
};

/// The settings of the environment, then of the profile in use:
/// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS, AWS_REGION,
/// AWS_DEFAULT_REGION, AWS_CA_BUNDLE, AWS_MAX_ATTEMPTS,
/// AWS_REQUEST_CHECKSUM_CALCULATION, and the block `s3 =` of ~/.aws/config:
/// addressing_style, max_concurrent_requests, multipart_chunksize. An endpoint
/// implies path style. Fails with the variable or setting whose value is wrong.
Expected<Settings> readSettings(const Environment& environment,
                                const Profiles& profiles);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_SETTINGS_H
