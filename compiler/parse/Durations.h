// Durations of several units, `1h30min`, as other programs write them. Private
// to this folder.

#ifndef RECIPEC_PARSE_DURATIONS_H
#define RECIPEC_PARSE_DURATIONS_H

#include <optional>
#include <string>
#include <string_view>

namespace recipec::parse {

/// `90min` for `1h30min`, `1h 30m` or `1 hour 30 minutes`: the sum in the
/// smallest of the units. Returns nullopt for a text of one unit, and for one
/// that is no duration.
std::optional<std::string> inOneUnit(std::string_view text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_DURATIONS_H
