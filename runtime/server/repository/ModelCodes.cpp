// See ModelCodes.h.
//
// The Python models of TensorRT-LLM's repository are known by their inputs and
// outputs, and run without Python.

#include "runtime/server/repository/ModelCodes.h"

#include "runtime/base/RemoteFiles.h"
#include "runtime/base/SamePlace.h"
#include "runtime/server/backends/BuiltinModels.h"
#include "runtime/server/backends/EngineModels.h"
#include "runtime/server/backends/TokenizerModels.h"
#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/TensorRtLlm.h"
#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;
using inference::ModelConfig;

enum class ModelKind {
  addSub,
  identity,
  text,
  tokens,
  preprocessing,
  postprocessing,
  unknown
};

bool hasInput(const ModelConfig& config, const std::string& name) {
  return std::ranges::any_of(
      config.input(), [&](const auto& each) { return each.name() == name; });
}

bool hasOutput(const ModelConfig& config, const std::string& name) {
  return std::ranges::any_of(
      config.output(), [&](const auto& each) { return each.name() == name; });
}

/// By the inputs and outputs of TensorRT-LLM's five models.
ModelKind kindOfPython(const ModelConfig& config) {
  if (hasInput(config, "QUERY") && hasOutput(config, "INPUT_ID"))
    return ModelKind::preprocessing;
  if (hasInput(config, "TOKENS_BATCH") && hasOutput(config, "OUTPUT"))
    return ModelKind::postprocessing;
  if (hasInput(config, "input_ids") && hasOutput(config, "output_ids"))
    return ModelKind::tokens;
  if (hasInput(config, "text_input") && hasOutput(config, "text_output"))
    return ModelKind::text;
  return ModelKind::unknown;
}

ModelKind kindOf(const ModelConfig& config) {
  const std::string& name =
      config.backend().empty() ? config.platform() : config.backend();
  if (name == "add_sub")
    return ModelKind::addSub;
  if (name == "identity")
    return ModelKind::identity;
  if (name == "recipec")
    return ModelKind::text;
  if (name == "tensorrtllm")
    return ModelKind::tokens;
  return name == "python" ? kindOfPython(config) : ModelKind::unknown;
}

Status invalidModel(const ModelConfig& config, const std::string& why) {
  return Status::error("model '" + config.name() + "' " + why,
                       StatusCode::invalidArgument);
}

Status unknownBackend(const ModelConfig& config) {
  if (config.backend() == "python")
    return invalidModel(config,
                        "has Python code; this server runs `preprocessing`, "
                        "`postprocessing`, `tensorrt_llm` and "
                        "`tensorrt_llm_bls` of TensorRT-LLM's repository "
                        "itself, and no other Python");
  const std::string& name =
      config.backend().empty() ? config.platform() : config.backend();
  return invalidModel(config, "names the backend '" + name +
                                  "'; this server has `recipec`, "
                                  "`tensorrtllm`, `add_sub`, `identity` and "
                                  "the platform `ensemble`");
}

std::string parameterOf(const ModelConfig& config, const std::string& name) {
  const auto found = config.parameters().find(name);
  return found == config.parameters().end() ? "" : found->second.string_value();
}

bool isTrue(const std::string& value, bool otherwise) {
  return flagOf(value).value_or(otherwise);
}

/// A path of a model's configuration, which starts in the model's folder; or an
/// address.
fs::path placeOf(const fs::path& folder, const std::string& path) {
  return isAddress(path) ? fs::path(path) : folder / path;
}

int instancesOf(const ModelConfig& config) {
  int all = 0;
  for (const auto& group : config.instance_group())
    all += group.count();
  return std::max(1, all);
}

using MakeBackend = std::function<Expected<std::unique_ptr<BatchBackend>>()>;

/// One backend for each instance.
Expected<ModelCode> codeOf(const ModelConfig& config, const MakeBackend& make) {
  ModelCode code;
  for (int i = 0; i < instancesOf(config); ++i) {
    auto backend = make();
    RECIPERUN_TRY(backend);
    code.instances.push_back(*std::move(backend));
  }
  return code;
}

/// The engine of a language model. Fails without one, or where the
/// configuration names another one.
Expected<ServedEngine> engineOf(const ModelConfig& config,
                                const fs::path& folder,
                                const std::optional<ServedEngine>& engine) {
  if (!engine)
    return invalidModel(config, "needs an engine; name its directory by the "
                                "parameter `gpt_model_path`, or by `--engine`");
  const fs::path named = engineFolderOf(config, folder);
  if (named.empty() || isSamePlace(named, engine->folder()))
    return *engine;
  return invalidModel(config,
                      "names another engine than the one that this process "
                      "runs; start a server for each engine");
}

/// The tokenizer that `tokenizer_dir` names, or the engine's.
Expected<data::Tokenizer>
tokenizerOf(const ModelConfig& config, const fs::path& folder,
            const std::optional<ServedEngine>& engine) {
  const std::string given = parameterOf(config, "tokenizer_dir");
  fs::path path = placeOf(folder, given) / "tokenizer.json";
  if (given.empty()) {
    if (!engine)
      return invalidModel(config, "needs a tokenizer; name its directory by "
                                  "the parameter `tokenizer_dir`");
    path = engine->folder() / "tokenizer.json";
  } else if (const Status known =
                 isAddress(path) ? remoteFilesOf(path).status() : Status::ok();
             !known.isOk()) {
    return invalidModel(config, "has the parameter `tokenizer_dir` '" + given +
                                    "': " + known.message());
  } else if (typeOf(path) != fs::file_type::regular) {
    return invalidModel(config, "has the parameter `tokenizer_dir` '" + given +
                                    "', where there is no tokenizer.json");
  }
  return data::Tokenizer::read(path.string());
}

Expected<ModelCode> preprocessing(const ModelConfig& config,
                                  const fs::path& folder,
                                  const std::optional<ServedEngine>& engine) {
  PreprocessingSettings settings;
  settings.addsSpecialTokens =
      isTrue(parameterOf(config, "add_special_tokens"), true);
  if (engine && !engine->model.folder.endTokens.empty())
    settings.endId = *engine->model.folder.endTokens.begin();
  return codeOf(config, [&]() -> Expected<std::unique_ptr<BatchBackend>> {
    auto tokenizer = tokenizerOf(config, folder, engine);
    RECIPERUN_TRY(tokenizer);
    return makePreprocessing(config, *std::move(tokenizer), settings);
  });
}

Expected<ModelCode> postprocessing(const ModelConfig& config,
                                   const fs::path& folder,
                                   const std::optional<ServedEngine>& engine) {
  const bool skips = isTrue(parameterOf(config, "skip_special_tokens"), true);
  return codeOf(config, [&]() -> Expected<std::unique_ptr<BatchBackend>> {
    auto tokenizer = tokenizerOf(config, folder, engine);
    RECIPERUN_TRY(tokenizer);
    return makePostprocessing(*std::move(tokenizer), skips);
  });
}

/// Whether answers leave the prompt out. tensorrt_llm_bls does as the model of
/// tokens that it names.
bool excludesInput(const ModelConfig& config, const ModelPlace& place) {
  if (config.backend() == "recipec")
    return isTrue(parameterOf(config, "exclude_input_in_output"), true);
  std::string model = parameterOf(config, "tensorrt_llm_model_name");
  if (model.empty() && kindOf(config) == ModelKind::text)
    model = "tensorrt_llm";
  if (model.empty() || model.find('/') != std::string::npos)
    return isTrue(parameterOf(config, "exclude_input_in_output"), false);
  const auto other = readModelConfig(place.repository / model, model);
  return other &&
         isTrue(parameterOf(*other->config, "exclude_input_in_output"), false);
}

Expected<ModelCode> languageModel(const ModelConfig& config, ModelKind kind,
                                  const ModelPlace& place,
                                  const std::optional<ServedEngine>& given) {
  const auto engine = engineOf(config, place.folder, given);
  RECIPERUN_TRY(engine);
  const bool excludes = excludesInput(config, place);
  ModelCode code;
  code.stream = kind == ModelKind::text
                    ? makeTextModel(config, *engine, excludes)
                    : makeTokenModel(config, *engine, excludes);
  return code;
}

} // namespace

Expected<ModelCode> makeCode(const ModelConfig& config, const ModelPlace& place,
                             const std::optional<ServedEngine>& engine) {
  const ModelKind kind = kindOf(config);
  switch (kind) {
  case ModelKind::addSub:
    return codeOf(config, [&] { return makeAddSub(config); });
  case ModelKind::identity:
    return codeOf(config, [&] { return makeIdentity(config); });
  case ModelKind::preprocessing:
    return preprocessing(config, place.folder, engine);
  case ModelKind::postprocessing:
    return postprocessing(config, place.folder, engine);
  case ModelKind::text:
  case ModelKind::tokens:
    return languageModel(config, kind, place, engine);
  case ModelKind::unknown:
    break;
  }
  return unknownBackend(config);
}

fs::path engineFolderOf(const ModelConfig& config, const fs::path& folder) {
  const ModelKind kind = kindOf(config);
  if (kind != ModelKind::text && kind != ModelKind::tokens)
    return {};
  const std::string path = parameterOf(config, "gpt_model_path");
  return path.empty() ? fs::path() : placeOf(folder, path);
}

} // namespace reciperun::server
