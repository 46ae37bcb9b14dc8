// Durations of several units, `1h30min`, as other programs write them. Private
// to this folder.

#ifndef RECIPEC_PARSE_DURATIONS_H
#define RECIPEC_PARSE_DURATIONS_H

#include <optional>
#include <string>
#include <string_view>

namespace recipec::parse {

/// Converts a duration of several units to the smallest of them: `90min` for
/// `1h30min`, `1h 30m` or `1 hour 30 minutes`. Returns nullopt for a single
/// unit, and for text that is not a duration.
std::optional<std::string> inOneUnit(std::string_view text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_DURATIONS_H
