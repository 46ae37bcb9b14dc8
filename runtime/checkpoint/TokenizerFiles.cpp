// Copies of the tokenizer's files, and a tokenizer_config.json where none is.

#include "runtime/checkpoint/TokenizerFiles.h"

#include "runtime/checkpoint/Files.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* besideNames[] = {
    "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"};

/// The text of a token in a parsed tokenizer.json.
std::optional<std::string> tokenText(const Json& tokenizer, int64_t id) {
  for (const Json& token : tokenizer.value("added_tokens", Json::array()))
    if (token.is_object() && token.value("id", Json()) == id &&
        token.value("content", Json()).is_string())
      return token["content"].get<std::string>();
  const Json model = tokenizer.value("model", Json::object());
  const Json vocab = model.is_object() ? model.value("vocab", Json()) : Json();
  if (vocab.is_object())
    for (const auto& [text, number] : vocab.items())
      if (number == id)
        return text;
  return std::nullopt;
}

/// Enough for transformers' AutoTokenizer to choose a class that applies
/// tokenizer.json as it is.
std::string minimalConfig(const plan::Data& data, const std::string& text) {
  Json tokenizer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false}};
  if (tokenizer.is_object()) {
    if (auto token = tokenText(tokenizer, data.bosToken))
      config["bos_token"] = *token;
    if (auto token = tokenText(tokenizer, data.eosToken))
      config["eos_token"] = *token;
  }
  return config.dump(2) + "\n";
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
  Expected<std::string> text = readTextFile(source);
  RECIPERUN_TRY(text);
  RECIPERUN_TRY(writeTextFile(directory / "tokenizer.json", *text));
  for (const char* name : besideNames) {
    fs::path beside = source.parent_path() / name;
    if (!fs::exists(beside, code))
      continue;
    Expected<std::string> copied = readTextFile(beside);
    RECIPERUN_TRY(copied);
    RECIPERUN_TRY(writeTextFile(directory / name, *copied));
  }
  fs::path config = directory / "tokenizer_config.json";
  if (fs::exists(config, code))
    return Status::ok();
  return writeTextFile(config, minimalConfig(data, *text));
}

} // namespace reciperun::checkpoint
