// Copies the tokenizer's files, and writes a tokenizer_config.json when there
// is none.

#include "runtime/checkpoint/TokenizerFiles.h"

#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/ChatTemplate.h"
#include "runtime/checkpoint/Files.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The expected contents of a file, which are checked.
enum class Claim { tokenizer, object, jinja };

struct Beside {
  const char* name;
  Claim claim;
};
constexpr Beside besides[] = {{"tokenizer_config.json", Claim::object},
                              {"special_tokens_map.json", Claim::object},
                              {"chat_template.jinja", Claim::jinja}};

/// Fails when a text does not have the expected contents. These files are often
/// links (a Hugging Face cache consists of them), so a model from elsewhere
/// could link to any file of this machine, which an export would then publish.
Expected<Json> checkedText(std::string_view text, Claim claim) {
  if (claim == Claim::jinja) {
    bool isTemplate = text.find("{{") != std::string_view::npos ||
                      text.find("{%") != std::string_view::npos;
    if (!isTemplate)
      return Status::error("it is no Jinja template: it has neither `{{` nor "
                           "`{%`");
    return Json();
  }
  Expected<Json> json = parseJson(text);
  RECIPERUN_TRY(json);
  if (!json->is_object())
    return Status::error("it is no JSON object");
  if (claim == Claim::tokenizer &&
      !(json->contains("model") && (*json)["model"].is_object()))
    return Status::error("there is no `model`, so that this is no "
                         "tokenizer.json of Hugging Face");
  return json;
}

/// Copies a file and returns its parsed contents.
Expected<Json> copyChecked(const fs::path& from, const fs::path& to,
                           Claim claim) {
  Expected<std::string> text = readTextFile(from);
  RECIPERUN_TRY(text);
  Expected<Json> json = checkedText(*text, claim);
  RECIPERUN_TRY(json.status()
                    .withContext("`" + from.string() + "`")
                    .withRemedy("copy or download the file again"));
  RECIPERUN_TRY(writeTextFile(to, *text));
  return json;
}

/// The text of a token in a parsed tokenizer.json.
std::optional<std::string> tokenText(const Json& tokenizer, int64_t id) {
  if (auto added = tokenizer.find("added_tokens");
      added != tokenizer.end() && added->is_array())
    for (const Json& token : *added)
      if (token.is_object() && token.value("id", Json()) == id &&
          token.value("content", Json()).is_string())
        return token["content"].get<std::string>();
  const Json& model = tokenizer["model"];
  if (auto vocab = model.find("vocab");
      vocab != model.end() && vocab->is_object())
    for (const auto& [text, number] : vocab->items())
      if (number == id)
        return text;
  return std::nullopt;
}

/// The minimum with which transformers' AutoTokenizer chooses a class that
/// applies tokenizer.json unchanged.
std::string minimalConfig(const plan::Data& data, const Json& tokenizer) {
  nlohmann::ordered_json config = {
      {"tokenizer_class", "PreTrainedTokenizerFast"},
      {"clean_up_tokenization_spaces", false}};
  if (auto token = tokenText(tokenizer, data.bosToken))
    config["bos_token"] = *token;
  if (auto token = tokenText(tokenizer, data.eosToken))
    config["eos_token"] = *token;
  return config.dump(2) + "\n";
}

/// Writes the chat template of the training in place of the tokenizer's own: to
/// its configuration, and to chat_template.jinja, which transformers prefers,
/// if it exists.
Status writeChatTemplate(const plan::Data& data, const Json& tokenizer,
                         const fs::path& directory) {
  const std::string text =
      jinjaTemplate(data.chat, tokenText(tokenizer, data.bosToken).value_or(""),
                    tokenText(tokenizer, data.eosToken).value_or(""));
  const fs::path file = directory / "chat_template.jinja";
  if (isThere(file))
    RECIPERUN_TRY(writeTextFile(file, text));
  const fs::path config = directory / "tokenizer_config.json";
  Expected<std::string> written = readTextFile(config);
  RECIPERUN_TRY(written);
  Expected<Json> json = parseJson(*written);
  RECIPERUN_TRY(json);
  (*json)["chat_template"] = text;
  return writeTextFile(config, json->dump(2) + "\n");
}

} // namespace

Status writeTokenizerFiles(const plan::Data& data, const fs::path& directory) {
  if (data.tokenizer.empty())
    return Status::ok();
  fs::path source = data.tokenizer;
  // A model that is trained on token ids may have no tokenizer.
  if (!plan::readsText(data) && !isThere(source))
    return Status::ok();
  Expected<Json> tokenizer =
      copyChecked(source, directory / "tokenizer.json", Claim::tokenizer);
  RECIPERUN_TRY(tokenizer);
  for (const Beside& each : besides) {
    fs::path beside = source.parent_path() / each.name;
    if (isThere(beside))
      RECIPERUN_TRY(copyChecked(beside, directory / each.name, each.claim));
  }
  fs::path config = directory / "tokenizer_config.json";
  if (!isThere(config))
    RECIPERUN_TRY(writeTextFile(config, minimalConfig(data, *tokenizer)));
  return plan::readsMessages(data)
             ? writeChatTemplate(data, *tokenizer, directory)
             : Status::ok();
}

} // namespace reciperun::checkpoint
