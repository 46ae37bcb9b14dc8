// See RequestRules.h.

#include "runtime/server/http/RequestRules.h"

#include <algorithm>
#include <string_view>
#include <strings.h>

namespace reciperun::server {
namespace {

bool isOneOf(char c, std::string_view all) {
  return all.find(c) != all.npos;
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLetterOrDigit(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// RFC 9110 section 5.6.2.
bool isToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return isLetterOrDigit(c) || isOneOf(c, "!#$%&'*+-.^_`|~");
  });
}

bool hasControl(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

/// RFC 3986 section 3.2: a name or an address, and a port.
bool isHost(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return isLetterOrDigit(c) || isOneOf(c, "-._~%!$&'()*+,;=:[]");
  });
}

bool isLength(std::string_view text) {
  constexpr size_t mostDigits = 18; // of a number in 64 bits
  return !text.empty() && text.size() <= mostDigits &&
         std::ranges::all_of(text, isDigit);
}

std::vector<std::string> valuesOf(const HttpHeaders& headers,
                                  const char* name) {
  std::vector<std::string> made;
  for (const auto& [key, value] : headers)
    if (strcasecmp(key.c_str(), name) == 0)
      made.push_back(value);
  return made;
}

} // namespace

std::string faultOf(const HttpHeaders& headers, int minor) {
  for (const auto& [name, value] : headers)
    if (!isToken(name) || hasControl(value))
      return "a header has a character that HTTP does not allow";
  const auto lengths = valuesOf(headers, "Content-Length");
  const auto codings = valuesOf(headers, "Transfer-Encoding");
  const auto hosts = valuesOf(headers, "Host");
  if (lengths.size() > 1 || !std::ranges::all_of(lengths, isLength))
    return "`Content-Length` is not one number";
  if (!lengths.empty() && !codings.empty())
    return "`Content-Length` and `Transfer-Encoding` exclude each other";
  const bool isChunked =
      codings.size() == 1 && strcasecmp(codings[0].c_str(), "chunked") == 0;
  if (!codings.empty() && (!isChunked || minor < 1))
    return "`Transfer-Encoding` can only be `chunked`";
  if (hosts.size() > 1 || (hosts.empty() && minor >= 1))
    return "a request needs one `Host`";
  if (!hosts.empty() && !isHost(hosts[0]))
    return "`Host` is no name or address";
  return "";
}

bool hasUnreadBody(const std::string& method, const HttpHeaders& headers) {
  return method == "HEAD" && (!valuesOf(headers, "Content-Length").empty() ||
                              !valuesOf(headers, "Transfer-Encoding").empty());
}

} // namespace reciperun::server
