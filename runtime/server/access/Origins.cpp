// See Origins.h.

#include "runtime/server/access/Origins.h"

#include "runtime/base/ParseJson.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

/// Whether a text is an origin as browsers write it (RFC 6454 section 6.2).
bool isOrigin(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == text.npos || scheme == 0 || scheme + 3 == text.size())
    return false;
  return std::ranges::all_of(text.substr(scheme + 3), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view(".-:[]").find(c) != std::string_view::npos;
  });
}

Expected<std::vector<std::string>> listOf(std::string_view option) {
  std::vector<std::string> made;
  if (option.starts_with("[")) {
    const auto list = parseOrderedJson(option, {.noun = "list"});
    RECIPERUN_TRY(list);
    for (const Json& each : *list)
      made.push_back(each.is_string() ? each.get<std::string>() : each.dump());
    return made;
  }
  while (!option.empty()) {
    const size_t comma = std::min(option.find(','), option.size());
    made.emplace_back(option.substr(0, comma));
    option.remove_prefix(std::min(comma + 1, option.size()));
  }
  return made;
}

} // namespace

Status Origins::add(std::string_view option) {
  const auto list = listOf(option);
  RECIPERUN_TRY(list);
  for (const std::string& each : *list) {
    if (each == "*") {
      allowsAll = true;
      continue;
    }
    if (!isOrigin(each))
      return Status::error("`" + each +
                           "` is no origin, such as `https://host:port` in "
                           "lower case and without a path");
    allowed.insert(each);
  }
  return Status::ok();
}

bool Origins::isAllowed(const std::string& origin) const {
  return !origin.empty() && (allowsAll || allowed.contains(origin));
}

bool Origins::answer(const HttpRequest& request, HttpReply& reply) const {
  if (!allowsAll && allowed.empty())
    return false;
  reply.addHeader("Vary", "Origin");
  const std::string& origin = request.header("origin");
  if (!isAllowed(origin))
    return false;
  reply.addHeader("Access-Control-Allow-Origin", allowsAll ? "*" : origin);
  reply.addHeader("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
  const bool isQuestion =
      request.method == "OPTIONS" &&
      !request.header("access-control-request-method").empty();
  if (!isQuestion)
    return false;
  // A page may send any header: keys are checked with the request itself.
  const std::string& headers = request.header("access-control-request-headers");
  if (!headers.empty())
    reply.addHeader("Access-Control-Allow-Headers", headers);
  reply.addHeader("Access-Control-Allow-Methods", "GET, POST");
  reply.addHeader("Access-Control-Max-Age", "600");
  reply.send(200, "text/plain", "");
  return true;
}

} // namespace reciperun::server
