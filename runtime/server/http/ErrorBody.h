// The bodies of error answers, in the form of each API.

#ifndef RECIPERUN_SERVER_HTTP_ERRORBODY_H
#define RECIPERUN_SERVER_HTTP_ERRORBODY_H

#include <string>
#include <string_view>

namespace reciperun::server {

/// The Content-Type of all bodies but streams.
inline constexpr const char* jsonType = "application/json";

/// The body of an error, in vLLM's form: {"error": {"message", "type", "param",
/// "code"}}. Ill-formed UTF-8 in the message becomes U+FFFD.
std::string errorBody(int status, const std::string& message);

/// The body of an error of KServe's protocol: {"error": "message"}.
std::string plainErrorBody(const std::string& message);

/// The body of an error in the form of the API that a path belongs to.
std::string errorBodyFor(std::string_view path, int status,
                         const std::string& message);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_ERRORBODY_H
