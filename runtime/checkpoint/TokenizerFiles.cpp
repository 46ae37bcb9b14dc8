// Copies of the tokenizer's files, and a tokenizer_config.json where none is.

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

/// What a file is by its name, which its bytes must bear out.
enum class Claim { tokenizer, object, jinja };

struct Beside {
  const char* name;
  Claim claim;
};
constexpr Beside besides[] = {{"tokenizer_config.json", Claim::object},
                              {"special_tokens_map.json", Claim::object},
                              {"chat_template.jinja", Claim::jinja}};

/// Fails where a text is not what it claims to be. These files are often links
/// (a Hugging Face cache is made of them), so that a model from elsewhere could
/// name any file of this machine, which an export would then hand on.
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

/// Copies a file and returns what it holds.
Expected<Json> copyChecked(const fs::path& from, const fs::path& to,
                           Claim claim) {
  Expected<std::string> text = readTextFile(from);
  RECIPERUN_TRY(text);
  Expected<Json> json = checkedText(*text, claim);
  RECIPERUN_TRY(json.status().withContext("`" + from.string() + "`"));
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

/// Enough for transformers' AutoTokenizer to choose a class that applies
/// tokenizer.json as it is.
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

/// The template by which the training laid out chat messages, in place of what
/// the tokenizer came with: in its configuration, and in the file that
/// transformers prefers to it, where there is one.
Status writeChatTemplate(const plan::Data& data, const Json& tokenizer,
                         const fs::path& directory) {
  const std::string text =
      jinjaTemplate(data.chat, tokenText(tokenizer, data.bosToken).value_or(""),
                    tokenText(tokenizer, data.eosToken).value_or(""));
  const fs::path file = directory / "chat_template.jinja";
  std::error_code code;
  if (fs::exists(file, code))
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
  std::error_code code;
  // A model may come without one where token ids are trained on.
  if (!plan::readsText(data) && !fs::exists(source, code))
    return Status::ok();
  Expected<Json> tokenizer =
      copyChecked(source, directory / "tokenizer.json", Claim::tokenizer);
  RECIPERUN_TRY(tokenizer);
  for (const Beside& each : besides) {
    fs::path beside = source.parent_path() / each.name;
    if (fs::exists(beside, code))
      RECIPERUN_TRY(copyChecked(beside, directory / each.name, each.claim));
  }
  fs::path config = directory / "tokenizer_config.json";
  if (!fs::exists(config, code))
    RECIPERUN_TRY(writeTextFile(config, minimalConfig(data, *tokenizer)));
  return plan::readsMessages(data)
             ? writeChatTemplate(data, *tokenizer, directory)
             : Status::ok();
}

} // namespace reciperun::checkpoint
