// See EmbeddingRequest.h.

#include "runtime/server/openai/EmbeddingRequest.h"

#include "runtime/base/ParseJson.h"

#include <string>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

Status readFormat(const Json& body, bool& isBase64) {
  std::string format = "float";
  RECIPERUN_TRY(readText(body, "encoding_format", format));
  if (format != "float" && format != "base64")
    return wrongType("encoding_format", "`float` or `base64`");
  isBase64 = format == "base64";
  return Status::ok();
}

Status readDimensions(const Json& body, std::optional<int64_t>& dimensions) {
  const Json* const value = findField(body, "dimensions");
  if (!value)
    return Status::ok();
  if (!value->is_number_unsigned() || *value == 0 || *value > (1 << 30))
    return wrongType("dimensions", "a whole number from 1");
  dimensions = value->get<int64_t>();
  return Status::ok();
}

} // namespace

Expected<EmbeddingRequest> readEmbeddingRequest(std::string_view body) {
  Expected<Json> json = parseOrderedJson(body, {.noun = "body"});
  RECIPERUN_TRY(json);
  if (!json->is_object())
    return Status::error("the body must be a JSON object");
  RECIPERUN_TRY(refuseUnsupported(
      *json,
      {{"messages"}, {"add_special_tokens", {true}}, {"normalize", {true}}}));
  EmbeddingRequest request;
  RECIPERUN_TRY(readCommonFields(*json, request.common));
  RECIPERUN_TRY(readPrompts(*json, "input", request.inputs));
  RECIPERUN_TRY(readFormat(*json, request.isBase64));
  RECIPERUN_TRY(readDimensions(*json, request.dimensions));
  return request;
}

} // namespace reciperun::server
