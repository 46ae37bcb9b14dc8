// See Weights.h.

#include "compiler/files/Weights.h"

#include "runtime/data/FileHead.h"
#include "runtime/plan/InputFile.h"
#include "runtime/plan/ParseJson.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>

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

} // namespace

void checkWeights(const Place& place, diag::Engine& engine) {
  std::string cause = reciperun::data::whyNoFolder(place.resolved);
  if (!cause.empty())
    return reportMissing(engine, place, cause);
  fs::path folder = place.resolved;
  std::error_code code;
  if (fs::exists(folder / manifestName, code))
    return;
  if (fs::exists(folder / singleName, code)) {
    cause = reciperun::data::whyNoFile((folder / singleName).string());
    if (!cause.empty())
      reportUnfit(place, engine,
                  "`" + (folder / singleName).string() +
                      "` cannot be read: " + cause,
                  "");
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
