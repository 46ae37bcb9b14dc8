// See BodyFields.h.

#include "runtime/server/openai/BodyFields.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

bool isListOfIds(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(
             value, [](const Json& each) { return each.is_number_integer(); });
}

Expected<serve::PromptContent> promptOf(const char* name, const Json& value) {
  if (value == "" || value == Json::array())
    return Status::error("`" + std::string(name) + "` is empty");
  if (value.is_string())
    return serve::PromptContent(value.get<std::string>());
  if (!isListOfIds(value))
    return wrongType(name, "a text, a list of token ids, or a list of either");
  std::vector<int32_t> ids;
  for (const Json& each : value) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (each < 0 || each > most)
      return Status::error("`" + std::string(name) + "` has the token id " +
                           each.dump() + ", which is outside the vocabulary");
    ids.push_back(each.get<int32_t>());
  }
  return serve::PromptContent(std::move(ids));
}

Status readLastTokens(const Json& body, std::optional<int64_t>& lastTokens) {
  const Json* const value = findField(body, "truncate_prompt_tokens");
  if (!value)
    return Status::ok();
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (!value->is_number_integer() || *value < -1 || *value == 0 ||
      *value > most)
    return wrongType("truncate_prompt_tokens",
                     "a whole number from 1, or -1 for what the plan takes");
  lastTokens = value->get<int64_t>();
  return Status::ok();
}

Status readPriority(const Json& body, int& target) {
  constexpr int most = 1 << 20;
  const Json* const priority = findField(body, "priority");
  if (!priority)
    return Status::ok();
  if (!priority->is_number_integer() || *priority < -most || *priority > most)
    return wrongType("priority", "a whole number");
  target = -priority->get<int>(); // vLLM: lower is sooner
  return Status::ok();
}

} // namespace

Status wrongType(const char* name, const char* due) {
  return Status::error("`" + std::string(name) + "` must be " + due);
}

Status readFlag(const Json& object, const char* name, bool& target) {
  const Json* const value = findField(object, name);
  if (!value)
    return Status::ok();
  if (!value->is_boolean())
    return wrongType(name, "`true` or `false`");
  target = value->get<bool>();
  return Status::ok();
}

Status readText(const Json& object, const char* name, std::string& target) {
  const Json* const value = findField(object, name);
  if (!value)
    return Status::ok();
  if (!value->is_string())
    return wrongType(name, "a text");
  target = value->get<std::string>();
  return Status::ok();
}

Status refuseUnsupported(const Json& body,
                         const std::vector<UnsupportedField>& fields) {
  for (const UnsupportedField& each : fields) {
    const Json* const value = findField(body, each.name);
    if (value &&
        std::ranges::find(each.harmless, *value) == each.harmless.end())
      return Status::error("`" + std::string(each.name) +
                           "` is not supported in this version; leave it out");
  }
  return Status::ok();
}

Status readCommonFields(const Json& body, CommonFields& fields) {
  RECIPERUN_TRY(readText(body, "model", fields.model));
  RECIPERUN_TRY(readText(body, "cache_salt", fields.cacheSalt));
  RECIPERUN_TRY(readLastTokens(body, fields.lastTokens));
  std::string user; // of no use here
  RECIPERUN_TRY(readText(body, "user", user));
  return readPriority(body, fields.priority);
}

Status readPrompts(const Json& body, const char* name,
                   std::vector<serve::PromptContent>& prompts) {
  const Json* const value = findField(body, name);
  if (!value)
    return Status::error("`" + std::string(name) + "` is missing");
  const bool isList =
      value->is_array() && !value->empty() && !isListOfIds(*value);
  for (const Json& each : isList ? *value : Json::array({*value})) {
    auto prompt = promptOf(name, each);
    RECIPERUN_TRY(prompt);
    prompts.push_back(*std::move(prompt));
  }
  return Status::ok();
}

} // namespace reciperun::server
