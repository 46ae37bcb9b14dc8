// See Weights.h.

#include "compiler/files/Weights.h"

#include "runtime/data/FileHead.h"
#include "runtime/plan/InputFile.h"
#include "runtime/plan/ParseJson.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <span>

namespace recipec::files {
namespace {

namespace fs = std::filesystem;

constexpr const char* singleName = "model.safetensors";
constexpr const char* indexName = "model.safetensors.index.json";
constexpr const char* manifestName = "manifest.json"; // of a checkpoint

/// The files that an index puts tensors into; empty where it is damaged.
std::set<std::string> shardsOf(const fs::path& index) {
  std::set<std::string> shards;
  auto text = reciperun::readTextFile(index);
  auto json = reciperun::plan::parseJson(text ? *text : "");
  if (!json || !json->is_object() || !json->contains("weight_map"))
    return shards;
  for (const auto& [tensor, shard] : (*json)["weight_map"].items())
    if (shard.is_string())
      shards.insert(shard.get<std::string>());
  return shards;
}

void reportUnfit(const Place& place, diag::Engine& engine,
                 const std::string& what, const std::string& help) {
  auto builder = engine.report(diag::Kind::InvalidData, place.range,
                               "`" + place.setting + "`: " + what);
  if (!help.empty())
    builder.help(help);
}

/// What a directory without safetensors may be instead.
std::string otherContents(const fs::path& folder) {
  std::error_code code;
  if (fs::exists(folder / "pytorch_model.bin", code) ||
      fs::exists(folder / "pytorch_model.bin.index.json", code))
    return "its `pytorch_model.bin` becomes `model.safetensors` by "
           "transformers' `save_pretrained`";
  std::string last;
  for (fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    std::string name = at->path().filename().string();
    if (name.starts_with("step-") &&
        fs::exists(at->path() / manifestName, code))
      last = std::max(last, name);
  }
  return last.empty() ? "" : "its last checkpoint is `" + last + "`";
}

void checkIndex(const Place& place, const fs::path& folder,
                diag::Engine& engine) {
  std::set<std::string> shards = shardsOf(folder / indexName);
  if (shards.empty())
    return reportUnfit(place, engine,
                       "`" + (folder / indexName).string() +
                           "` names no file of weights (`weight_map`)",
                       "");
  for (const std::string& shard : shards) {
    std::string path = (folder / shard).string();
    std::string cause = reciperun::data::whyNoFile(path);
    if (!cause.empty())
      return reportUnfit(place, engine,
                         "`" + std::string(indexName) + "` names `" + shard +
                             "`, and `" + path + "` cannot be read: " + cause,
                         "");
  }
}

/// Whether the file begins as safetensors do: the length of a header, and one
/// that fits.
std::string whyNoSafetensors(const fs::path& path) {
  auto file = reciperun::InputFile::open(path);
  if (!file)
    return file.message();
  uint64_t length = 0;
  char first = 0;
  bool isWhole =
      file->size() > int64_t(sizeof length) &&
      file->read(0, std::as_writable_bytes(std::span(&length, 1))) &&
      length <= uint64_t(file->size()) - sizeof length &&
      file->read(sizeof length, std::as_writable_bytes(std::span(&first, 1))) &&
      first == '{';
  return isWhole ? "" : "`" + path.string() + "` is no safetensors file";
}

/// Sizes that Hugging Face's configurations name.
constexpr const char* sizes[] = {"hidden_size",
                                 "num_hidden_layers",
                                 "vocab_size",
                                 "intermediate_size",
                                 "num_attention_heads",
                                 "num_key_value_heads",
                                 "head_dim",
                                 "num_local_experts",
                                 "num_experts",
                                 "moe_intermediate_size"};

/// Compares the sizes that the configuration and the model both give.
void checkConfig(const Place& place, const fs::path& path,
                 const recipe::Recipe& recipe, diag::Engine& engine) {
  std::error_code code;
  const recipe::Value* model = recipe.find("model.hf_config");
  const auto* own = model ? std::get_if<recipe::Record>(&model->data) : nullptr;
  if (!own || !fs::exists(path, code))
    return;
  auto text = reciperun::readTextFile(path);
  auto config = reciperun::plan::parseJson(text ? *text : "");
  if (!text || !config)
    return reportUnfit(place, engine,
                       "`" + path.string() + "` cannot be read: " +
                           (text ? config.message() : text.message()),
                       "");
  for (const char* name : sizes) {
    const recipe::Value* mine = own->find(name);
    const int64_t* size = mine ? std::get_if<int64_t>(&mine->data) : nullptr;
    auto theirs = config->find(name);
    if (!size || theirs == config->end() || !theirs->is_number_integer() ||
        theirs->get<int64_t>() == *size)
      continue;
    reportUnfit(place, engine,
                "they are of another model: `" + std::string(name) + "` is " +
                    std::to_string(theirs->get<int64_t>()) + " in `" +
                    path.string() + "`, and " + std::to_string(*size) +
                    " in the recipe's model",
                "give the recipe's `model` the sizes of that file, or take "
                "other weights");
    return;
  }
}

} // namespace

void checkWeights(const Place& place, const recipe::Recipe& recipe,
                  diag::Engine& engine) {
  std::string cause = reciperun::data::whyNoFolder(place.resolved);
  if (!cause.empty())
    return reportMissing(engine, place, cause);
  fs::path folder = place.resolved;
  std::error_code code;
  if (fs::exists(folder / manifestName, code))
    return;
  checkConfig(place, folder / "config.json", recipe, engine);
  if (fs::exists(folder / singleName, code)) {
    cause = reciperun::data::whyNoFile((folder / singleName).string());
    if (!cause.empty())
      cause =
          "`" + (folder / singleName).string() + "` cannot be read: " + cause;
    else
      cause = whyNoSafetensors(folder / singleName);
    if (!cause.empty())
      reportUnfit(place, engine, cause, "");
    return;
  }
  if (fs::exists(folder / indexName, code))
    return checkIndex(place, folder, engine);
  reportUnfit(place, engine,
              "`" + place.written + "` holds neither `" + singleName +
                  "` nor `" + indexName + "`, nor is it a checkpoint",
              otherContents(folder));
}

void checkCheckpoint(const Place& place, diag::Engine& engine) {
  std::string cause = reciperun::data::whyNoFolder(place.resolved);
  if (!cause.empty())
    return reportMissing(engine, place, cause);
  fs::path folder = place.resolved;
  std::error_code code;
  if (fs::exists(folder / manifestName, code))
    return;
  bool isModel = fs::exists(folder / singleName, code) ||
                 fs::exists(folder / indexName, code);
  reportUnfit(place, engine,
              "`" + place.written + "` is no checkpoint: it holds no `" +
                  manifestName + "`",
              isModel ? "it holds weights: start from them with `weights`"
                      : otherContents(folder));
}

} // namespace recipec::files
