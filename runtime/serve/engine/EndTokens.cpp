// `eos_token_id` of generation_config.json: absent, null, an id or a list.

#include "runtime/serve/engine/EndTokens.h"

#include "runtime/base/InputFile.h"
#include "runtime/checkpoint/ModelConfig.h"

#include <nlohmann/json.hpp>

namespace reciperun::serve {
namespace {

using Json = nlohmann::json;

Expected<std::set<int32_t>> idsOf(const Json& eos) {
  std::set<int32_t> ids;
  if (eos.is_null())
    return ids;
  const Json list = eos.is_array() ? eos : Json::array({eos});
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
      return Status::error("`eos_token_id` is " + eos.dump() +
                           ", neither a token id nor a list of them; write the "
                           "ids of the tokens that end an answer");
    ids.insert(id.get<int32_t>());
  }
  return ids;
}

} // namespace

Expected<std::set<int32_t>> readEndTokens(const std::filesystem::path& path) {
  if (isAbsent(path))
    return std::set<int32_t>();
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  const std::string place = "`" + path.string() + "`";
  Expected<Json> json = checkpoint::parseModelConfig(*text);
  RECIPERUN_TRY(json.status().withContext(place));
  Expected<std::set<int32_t>> ids = idsOf(json->value("eos_token_id", Json()));
  RECIPERUN_TRY(ids.status().withContext(place));
  return ids;
}

} // namespace reciperun::serve
