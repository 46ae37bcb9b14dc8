// See Weights.h.

#include "compiler/files/Weights.h"

#include "compiler/files/ModelOfWeights.h"
#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/HuggingFaceCheck.h"
#include "runtime/data/FileHead.h"
#include "runtime/plan/Paths.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>

namespace recipec::files {
namespace {

namespace fs = std::filesystem;

constexpr const char* singleName = "model.safetensors";
constexpr const char* configName = "config.json";
constexpr const char* indexName = "model.safetensors.index.json";
constexpr const char* manifestName = "manifest.json"; // of a checkpoint

/// The shard files that an index lists; empty if the index is damaged.
std::set<std::string> shardsOf(const fs::path& index) {
  std::set<std::string> shards;
  auto text = reciperun::readTextFile(index);
  auto json = reciperun::parseJson(text ? *text : "");
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

/// The contents of a folder, with paths as the user spelt them.
reciperun::checkpoint::Folder folderAt(const Place& place) {
  reciperun::checkpoint::Folder found =
      reciperun::checkpoint::lookAt(place.resolved);
  if (!found.newest.empty())
    found.newest = fs::path(place.written) /
                   found.newest.lexically_relative(place.resolved);
  return found;
}

/// Reports the folder of a run, or of all its checkpoints, where weights or one
/// checkpoint are needed.
bool reportRun(const Place& place, diag::Engine& engine) {
  const reciperun::checkpoint::Folder found = folderAt(place);
  if (found.newest.empty())
    return false;
  const std::string key = place.setting.substr(place.setting.rfind('.') + 1);
  reportUnfit(place, engine,
              reciperun::checkpoint::describe(place.written, found),
              "write `" + key + " = \"" + found.newest.string() + "\"`");
  return true;
}

/// A help for a directory without safetensors files, based on its other files.
std::string otherContents(const Place& place) {
  const fs::path folder = place.resolved;
  std::error_code code;
  if (fs::exists(folder / "pytorch_model.bin", code) ||
      fs::exists(folder / "pytorch_model.bin.index.json", code))
    return "its `pytorch_model.bin` becomes `model.safetensors` by "
           "transformers' `save_pretrained`";
  // An adapter alone is not enough to start a run.
  if (fs::exists(folder / "adapter_config.json", code))
    return "it is an adapter: " +
           reciperun::checkpoint::instead(folder, "name");
  if (place.setting == "checkpoint.resume")
    return "name the folder of a checkpoint, `resume = "
           "\"DIR/step-00000100\"`, or write `resume = \"auto\"`";
  return "name a folder with `config.json` and `" + std::string(singleName) +
         "`, as transformers' `save_pretrained` writes it";
}

bool checkIndex(const Place& place, const fs::path& folder,
                diag::Engine& engine) {
  std::set<std::string> shards = shardsOf(folder / indexName);
  if (shards.empty()) {
    reportUnfit(place, engine,
                "`" + (folder / indexName).string() +
                    "` names no file of weights (`weight_map`)",
                "download or copy the file again");
    return false;
  }
  std::string unread;
  size_t missing = 0;
  for (const std::string& shard : shards) {
    std::string path = (folder / shard).string();
    std::string cause = reciperun::data::whyNoFile(path);
    if (!cause.empty() && missing++ == 0)
      unread = "`" + std::string(indexName) + "` names `" + shard + "`, and `" +
               path + "` cannot be read: " + cause;
  }
  if (missing == 0)
    return true;
  reportUnfit(place, engine, unread,
              std::to_string(missing) + " of the " +
                  std::to_string(shards.size()) +
                  " files of weights cannot be read: download the folder "
                  "again, or copy the rest of its files");
  return false;
}

constexpr std::string_view lfsPointer = "version https://git-lfs";

/// The name of a weights file that is a Git LFS pointer; empty if there is
/// none.
std::string pointerIn(const fs::path& folder) {
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    if (at->path().extension() != ".safetensors")
      continue;
    auto head =
        reciperun::data::readHead(at->path().string(), lfsPointer.size());
    if (head && *head == lfsPointer)
      return at->path().filename().string();
  }
  return {};
}

using reciperun::checkpoint::TensorFault;

/// What to do if the tensors differ from those of the recipe's model.
std::string helpWithTensors(const Place& place, const TensorFault& fault,
                            bool hasConfig) {
  if (fault.kind == TensorFault::Kind::quantization)
    return "name the model that these weights were quantized from";
  if (fault.prefix == "_orig_mod.")
    return "torch.compile adds the prefix: save the weights of the model "
           "inside, `model._orig_mod.state_dict()`";
  if (!fault.prefix.empty())
    return "save the weights again without the prefix, from the model inside "
           "its wrapper";
  if (!hasConfig)
    return "name weights of the recipe's model, or write the model that these "
           "weights are of";
  if (fault.kind == TensorFault::Kind::furtherTokens)
    return "set `mtp_layers` of the model to 0: these weights were written "
           "without the module that predicts further tokens";
  if (fault.kind == TensorFault::Kind::names)
    return "the recipe's model agrees with the `config.json` of `" +
           place.written +
           "`, and the names of its tensors do not: write the folder with "
           "transformers' `save_pretrained` of the whole model";
  return "the recipe's model agrees with the `config.json` of `" +
         place.written + "`, and its tensors do not: copy both from one model";
}

/// The manifest of a checkpoint; an empty object if it is damaged, because the
/// run reports that.
nlohmann::json manifestOf(const fs::path& folder) {
  auto text = reciperun::readTextFile(folder / manifestName);
  auto json = reciperun::parseJson(text ? *text : "");
  return json && json->is_object() ? nlohmann::json(*json)
                                   : nlohmann::json::object();
}

/// The names of the parameters of a checkpoint.
std::set<std::string> parametersOf(const fs::path& folder) {
  std::set<std::string> names;
  const nlohmann::json json = manifestOf(folder);
  if (!json.contains("parameters") || !json["parameters"].is_array())
    return names;
  for (const auto& parameter : json["parameters"])
    if (parameter.is_object() && parameter.contains("name") &&
        parameter["name"].is_string())
      names.insert(parameter["name"].get<std::string>());
  return names;
}

/// Reports a checkpoint without the adapter that the run trains.
void checkAdapter(const Place& place, const reciperun::plan::Plan& plan,
                  diag::Engine& engine) {
  const std::set<std::string> names = parametersOf(place.resolved);
  if (names.empty())
    return;
  for (const reciperun::plan::Parameter& parameter : plan.parameters)
    if (parameter.adapter && !names.contains(parameter.name))
      return reportUnfit(
          place, engine,
          "`" + place.written +
              "` is a checkpoint without the adapter: it "
              "has no `" +
              parameter.name + "`",
          "to start the adapter from its weights, write `weights = \"" +
              place.written + "\"` and leave `resume` out");
}

/// Warns if the checkpoint has already done all steps of the run.
void doubtSteps(const Place& place, const recipe::Recipe& recipe,
                const reciperun::plan::Plan& plan, diag::Engine& engine) {
  const nlohmann::json position =
      manifestOf(place.resolved).value("position", nlohmann::json::object());
  const int64_t steps = plan.train.steps;
  if (!position.is_object() || !position.contains("step") ||
      !position["step"].is_number_integer() || steps <= 0 ||
      recipe.at("train.steps").isNone())
    return;
  // The steps differ if the checkpoint's global batch did, so compare rows.
  const int64_t rows = position.value("rows", int64_t(0));
  const int64_t done = rows > 0 ? rows / recipe.integer("batch.global")
                                : position["step"].get<int64_t>();
  if (done < steps)
    return;
  auto builder = engine.report(
      diag::Kind::UnlikelySetting, recipe.at("train.steps").origin.range,
      "`steps` = " + std::to_string(steps) +
          " counts from the beginning, and the checkpoint to resume from has "
          "done " +
          std::to_string(done) + ": nothing is left to do");
  builder.label(place.range, "the checkpoint");
  builder.help("write `steps = " + std::to_string(done + steps) + "` for " +
               std::to_string(steps) + " more");
}

} // namespace

void checkWeights(const Place& place, const recipe::Recipe& recipe,
                  const reciperun::plan::Plan& plan, const SourceMap& sources,
                  Findings& found) {
  diag::Engine& engine = found.faults;
  std::string cause = reciperun::data::whyNoFolder(place.resolved);
  if (!cause.empty())
    return reportMissing(engine, place, cause);
  fs::path folder = place.resolved;
  std::error_code code;
  if (fs::exists(folder / manifestName, code)) {
    checkManifest(place, recipe, plan, sources, engine);
    return;
  }
  bool isSingle = fs::exists(folder / singleName, code);
  if (!isSingle && !fs::exists(folder / indexName, code)) {
    if (!reportRun(place, engine))
      reportUnfit(place, engine,
                  "`" + place.written + "` holds neither `" + singleName +
                      "` nor `" + indexName + "`, nor is it a checkpoint",
                  otherContents(place));
    return;
  }
  if (!isSingle && !checkIndex(place, folder, engine))
    return;
  if (const std::string pointer = pointerIn(folder); !pointer.empty())
    return reportUnfit(place, engine,
                       "`" + (fs::path(place.written) / pointer).string() +
                           "` is a pointer of Git LFS, not the file itself",
                       "get the file by `git lfs pull` in `" + place.written +
                           "`");
  auto files = reciperun::checkpoint::ModelFiles::open(folder);
  if (!files)
    return reportUnfit(place, engine, files.message(), "");
  if (!fs::exists(folder / configName, code))
    reportUnfit(place, found.doubts,
                "`" + place.written + "` holds no `" + configName +
                    "`, which the run reads",
                "copy the `config.json` of the model beside its weights");
  else if (!checkConfig(place, recipe, plan, sources, engine))
    return;
  const TensorFault fault =
      reciperun::checkpoint::findTensorFault(plan, *files);
  if (fault.kind != TensorFault::Kind::none)
    reportUnfit(
        place, engine, fault.status.message(),
        helpWithTensors(place, fault, fs::exists(folder / configName, code)));
}

void checkCheckpoint(const Place& place, const recipe::Recipe& recipe,
                     const reciperun::plan::Plan& plan,
                     const SourceMap& sources, Findings& found) {
  diag::Engine& engine = found.faults;
  std::string cause = reciperun::data::whyNoFolder(place.resolved);
  std::error_code code;
  // The name alone, as `reciperun checkpoint list` prints it.
  const fs::path own = fs::path(plan.checkpoint.directory) / place.written;
  if (!cause.empty() &&
      fs::exists(reciperun::plan::resolvePath(place.folder, own.string()) +
                     "/" + manifestName,
                 code))
    return reportUnfit(place, engine, "there is no `" + place.written + "`",
                       "the run's checkpoint of this name is `" + own.string() +
                           "`: write `resume = \"" + own.string() + "\"`");
  if (!cause.empty())
    return reportMissing(engine, place, cause);
  fs::path folder = place.resolved;
  if (fs::exists(folder / manifestName, code)) {
    if (checkManifest(place, recipe, plan, sources, engine)) {
      checkAdapter(place, plan, engine);
      doubtSteps(place, recipe, plan, found.doubts);
    }
    return;
  }
  bool isModel = fs::exists(folder / singleName, code) ||
                 fs::exists(folder / indexName, code);
  if (!isModel && reportRun(place, engine))
    return;
  reportUnfit(place, engine,
              "`" + place.written + "` is no checkpoint: it holds no `" +
                  manifestName + "`",
              isModel ? "it holds weights: start from them with `weights`"
                      : otherContents(place));
}

} // namespace recipec::files
