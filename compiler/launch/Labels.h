// Names of recipes as names in a cluster.

#ifndef RECIPEC_LAUNCH_LABELS_H
#define RECIPEC_LAUNCH_LABELS_H

#include <string>
#include <string_view>

namespace recipec::launch {

/// The most characters of a DNS-1035 label (RFC 1035, section 2.3.4).
inline constexpr size_t longestLabel = 63;

/// The text as a DNS-1035 label: lower case, with one `-` for each run of other
/// characters. A label that would be too long is cut and ends in a hash of the
/// whole text, so that different points of a sweep keep different names.
std::string labelOf(std::string_view text);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_LABELS_H
