// See ErrorBody.h.

#include "runtime/server/http/ErrorBody.h"

#include <nlohmann/json.hpp>

namespace reciperun::server {
namespace {

using ErrorJson = nlohmann::ordered_json;

const char* errorType(int status) {
  switch (status) {
  case 400:
    return "BadRequestError";
  case 401:
    return "AuthenticationError";
  case 403:
    return "PermissionDeniedError";
  case 404:
    return "NotFoundError";
  case 405:
    return "MethodNotAllowedError";
  case 429:
    return "RateLimitError";
  case 503:
    return "ServiceUnavailableError";
  default:
    return "InternalServerError";
  }
}

std::string textOf(const ErrorJson& json) {
  return json.dump(-1, ' ', false, ErrorJson::error_handler_t::replace);
}

} // namespace

std::string errorBody(int status, const std::string& message) {
  return textOf({{"error",
                  {{"message", message},
                   {"type", errorType(status)},
                   {"param", nullptr},
                   {"code", status}}}});
}

std::string plainErrorBody(const std::string& message) {
  return textOf({{"error", message}});
}

std::string errorBodyFor(std::string_view path, int status,
                         const std::string& message) {
  const bool isKServe = path == "/v2" || path.starts_with("/v2/");
  return isKServe ? plainErrorBody(message) : errorBody(status, message);
}

} // namespace reciperun::server
