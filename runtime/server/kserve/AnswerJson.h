// Writes the JSON of answers in Triton's format.

#ifndef RECIPERUN_SERVER_KSERVE_ANSWERJSON_H
#define RECIPERUN_SERVER_KSERVE_ANSWERJSON_H

#include "runtime/base/Status.h"
#include "runtime/server/models/InferRequest.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

namespace reciperun::server {

/// Writes NaN and infinities as `NaN`, `Infinity` and `-Infinity`.
using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>,
                                     rapidjson::UTF8<>, rapidjson::CrtAllocator,
                                     rapidjson::kWriteNanAndInfFlag>;

/// Writes a string. Ill-formed UTF-8 becomes U+FFFD, because a body with it
/// would not be JSON.
void writeString(JsonWriter& writer, std::string_view text);
void writeKey(JsonWriter& writer, std::string_view name);
void writeParameter(JsonWriter& writer, const Parameter& parameter);
/// A member that is a string.
void writeMember(JsonWriter& writer, std::string_view name,
                 std::string_view text);

/// `{"error":"<message>"}`.
std::string errorJson(std::string_view message);

/// The HTTP status of a failure with this code.
int httpStatusOf(StatusCode code);
/// 200 for no failure.
int httpStatusOf(const Status& status);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_ANSWERJSON_H
