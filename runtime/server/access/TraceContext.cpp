// See TraceContext.h.

#include "runtime/server/access/TraceContext.h"

#include <algorithm>
#include <string_view>

namespace reciperun::server {
namespace {

// `00-<trace>-<parent>-<flags>`
constexpr size_t versionDigits = 2, traceDigits = 32, parentDigits = 16,
                 flagDigits = 2;
constexpr size_t traceBegin = versionDigits + 1;
constexpr size_t parentBegin = traceBegin + traceDigits + 1;
constexpr size_t flagsBegin = parentBegin + parentDigits + 1;
constexpr size_t parentSize = flagsBegin + flagDigits;
constexpr size_t longestParent = 256; // later versions may be longer
constexpr size_t longestState = 512;  // section 3.3.1.5: at least that much

bool isHexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool isId(std::string_view text) {
  return isHexadecimal(text) && text.find_first_not_of('0') != text.npos;
}

bool isPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

bool isParent(std::string_view text) {
  if (text.size() < parentSize || text.size() > longestParent ||
      !isPrintable(text))
    return false;
  const std::string_view version = text.substr(0, versionDigits);
  const bool isLater = version != "00";
  return isHexadecimal(version) && version != "ff" &&
         text[traceBegin - 1] == '-' &&
         isId(text.substr(traceBegin, traceDigits)) &&
         text[parentBegin - 1] == '-' &&
         isId(text.substr(parentBegin, parentDigits)) &&
         text[flagsBegin - 1] == '-' &&
         isHexadecimal(text.substr(flagsBegin, flagDigits)) &&
         (text.size() == parentSize || (isLater && text[parentSize] == '-'));
}

/// Members `key=value` with commas between them.
bool isState(std::string_view text) {
  if (text.size() > longestState || !isPrintable(text))
    return false;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view member = text.substr(0, end);
    if (member.find_first_not_of(' ') != member.npos &&
        member.find('=') == member.npos)
      return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

} // namespace

std::optional<TraceContext> traceOf(const std::string& parent,
                                    const std::string& state) {
  if (!isParent(parent))
    return std::nullopt;
  return TraceContext{.trace = parent.substr(traceBegin, traceDigits),
                      .parent = parent.substr(parentBegin, parentDigits),
                      .header = parent,
                      .state = isState(state) ? state : ""};
}

} // namespace reciperun::server
