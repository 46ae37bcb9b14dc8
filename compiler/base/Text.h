// Helpers for text that messages quote.

#ifndef RECIPEC_BASE_TEXT_H
#define RECIPEC_BASE_TEXT_H

#include <string>
#include <string_view>

namespace recipec {

/// Collapses each run of white space, including line breaks, to one space, and
/// removes it at both ends.
std::string onOneLine(std::string_view text);

} // namespace recipec

#endif // RECIPEC_BASE_TEXT_H
