// Compresses a plan for a ConfigMap.

#ifndef RECIPEC_LAUNCH_KUBERNETES_GZIP_H
#define RECIPEC_LAUNCH_KUBERNETES_GZIP_H

#include <string>

namespace recipec::launch {

/// The text in the format of gzip (RFC 1952), without a time stamp, so that
/// equal texts give equal bytes.
std::string gzipped(const std::string& text);

/// Base64 with padding (RFC 4648, section 4).
std::string base64Of(const std::string& bytes);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_GZIP_H
