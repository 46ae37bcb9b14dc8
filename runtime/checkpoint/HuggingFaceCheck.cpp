// Checks that 1. config.json agrees; 2. every parameter has its tensor with its
// shape and a float dtype, and there are no other tensors.

#include "runtime/checkpoint/HuggingFaceCheck.h"

#include "runtime/base/InputFile.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/ModelConfig.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/plan/TensorRows.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace reciperun::checkpoint {
namespace {

/// The number of tensors that a message names; the rest are counted.
constexpr size_t namedInMessage = 10;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), namedInMessage); ++i)
    text += (i ? ", `" : "`") + names[i] + "`";
  if (names.size() > namedInMessage)
    text += " and " + std::to_string(names.size() - namedInMessage) + " more";
  return text;
}

bool isTied(const std::string& text) {
  Expected<nlohmann::json> config = checkpoint::parseModelConfig(text);
  return config && config->contains("tie_word_embeddings") &&
         (*config)["tie_word_embeddings"] == true;
}

/// The common prefix with which a directory has all tensors in `missing`; empty
/// when there is none.
std::string prefixOf(const std::vector<std::string>& missing,
                     const ModelFiles& model) {
  for (const std::string& name : model.names()) {
    if (!name.ends_with("." + missing.front()))
      continue;
    const std::string prefix =
        name.substr(0, name.size() - missing.front().size());
    if (std::ranges::all_of(missing, [&](const std::string& each) {
          return model.find(prefix + each).has_value();
        }))
      return prefix;
  }
  return {};
}

TensorFault checkMissing(const plan::Plan& plan, const ModelFiles& model,
                         const StoredWeights& quantized) {
  std::vector<std::string> missing;
  std::set<std::string> seen; // a tensor may hold several parameters
  for (const plan::Parameter& parameter : plan.parameters)
    for (const std::string& name : tensorNames(parameter))
      if (!parameter.adapter && !model.find(name) && !quantized.find(name) &&
          seen.insert(name).second)
        missing.push_back(name);
  if (missing.empty())
    return {};
  const std::string count = std::to_string(missing.size());
  const std::string directory = "`" + model.directory().string() + "`";
  const std::string prefix = prefixOf(missing, model);
  if (!prefix.empty())
    return {TensorFault::Kind::names,
            Status::error("in " + directory + ", the names of " + count +
                          " of the model's tensors have the prefix `" + prefix +
                          "`: `" + prefix + missing.front() +
                          "` in place of `" + missing.front() + "`"),
            prefix};
  const bool isOnlyFurther =
      std::ranges::all_of(missing, [&](const std::string& name) {
        return isOfFurtherTokens(name, plan.exchange.config);
      });
  return {isOnlyFurther ? TensorFault::Kind::furtherTokens
                        : TensorFault::Kind::names,
          Status::error(directory + " lacks " + count +
                        " of the model's tensors: " + listed(missing))};
}

Status checkUnexpected(const plan::Plan& plan, const ModelFiles& model,
                       const StoredWeights& quantized) {
  std::set<std::string> known;
  for (const plan::Parameter& parameter : plan.parameters)
    for (std::string& name : tensorNames(parameter))
      known.insert(std::move(name));
  std::vector<std::string> unexpected;
  for (const std::string& name : model.names())
    if (!known.contains(name) && !quantized.isAuxiliary(name) &&
        !isIgnorableTensor(name, plan.exchange.config) &&
        !isOfFurtherTokens(name, plan.exchange.config))
      unexpected.push_back(name);
  if (unexpected.empty())
    return Status::ok();
  // Dropping a weight, such as a bias, would change the model.
  return Status::error("`" + model.directory().string() + "` holds " +
                       std::to_string(unexpected.size()) +
                       " tensors that the recipe's model has no place for: " +
                       listed(unexpected));
}

/// Checks a parameter's tensor that is quantized in another program's layout.
Status checkQuantized(const plan::Parameter& parameter, const std::string& name,
                      const StoredWeight& stored) {
  const std::vector<int64_t> expected = plan::tensorShape(parameter),
                             found = {stored.rows, stored.columns};
  if (found == expected)
    return Status::ok();
  return Status::error("`" + stored.data.file->path().string() +
                       "`: the quantized tensor `" + name + "` has shape " +
                       shapeText(found) + ", expected " + shapeText(expected));
}

Status checkTensor(const plan::Parameter& parameter, const std::string& name,
                   const ModelFiles::Place& place) {
  std::string tensor =
      "`" + place.file->path().string() + "`: tensor `" + name + "`";
  std::vector<int64_t> expected = plan::tensorShape(parameter);
  if (place.tensor->shape != expected)
    return Status::error(tensor + " has shape " +
                         shapeText(place.tensor->shape) + ", expected " +
                         shapeText(expected));
  if (!findElementType(place.tensor->dtype))
    return Status::error(tensor + " has dtype `" + place.tensor->dtype +
                         "`, expected `F32`, `BF16`, `F16` or `F64`");
  return Status::ok();
}

} // namespace

bool isIgnorableTensor(const std::string& name, const std::string& config) {
  return name.ends_with("rotary_emb.inv_freq") ||
         (name == "lm_head.weight" && isTied(config));
}

bool isOfFurtherTokens(const std::string& name, const std::string& text) {
  constexpr std::string_view prefix = "model.layers.";
  int64_t layer = 0;
  if (!name.starts_with(prefix) ||
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(),
                      layer)
              .ec != std::errc())
    return false;
  Expected<nlohmann::json> config = parseModelConfig(text);
  if (!config || !config->contains("num_nextn_predict_layers"))
    return false;
  const nlohmann::json layers =
      config->value("num_hidden_layers", nlohmann::json());
  return layers.is_number_integer() && layer >= layers.get<int64_t>();
}

Status checkTensors(const plan::Plan& plan, const ModelFiles& model) {
  return findTensorFault(plan, model).status;
}

TensorFault findTensorFault(const plan::Plan& plan, const ModelFiles& model) {
  using Kind = TensorFault::Kind;
  Expected<StoredWeights> quantized = StoredWeights::open(model);
  if (!quantized)
    return {Kind::quantization, quantized.status()};
  TensorFault missing = checkMissing(plan, model, *quantized);
  if (missing.kind != Kind::none)
    return missing;
  Status unexpected = checkUnexpected(plan, model, *quantized);
  if (!unexpected.isOk())
    return {Kind::names, unexpected};
  for (const plan::Parameter& parameter : plan.parameters) {
    if (parameter.adapter)
      continue;
    for (const std::string& name : tensorNames(parameter)) {
      const StoredWeight* stored = quantized->find(name);
      Status status = stored ? checkQuantized(parameter, name, *stored)
                             : checkTensor(parameter, name, *model.find(name));
      if (!status.isOk())
        return {Kind::shapes, status};
    }
  }
  return {};
}

Expected<ModelFiles> openHuggingFace(const plan::Plan& plan,
                                     const std::filesystem::path& directory) {
  Expected<ModelFiles> model = ModelFiles::open(directory);
  RECIPERUN_TRY(model);
  const std::filesystem::path path = directory / "config.json";
  Expected<std::string> config = readTextFile(path);
  RECIPERUN_TRY(config);
  RECIPERUN_TRY(checkpoint::checkModelConfig("`" + path.string() + "`", *config,
                                             plan.exchange.config));
  RECIPERUN_TRY(checkTensors(plan, *model));
  return model;
}

Status checkHuggingFace(const plan::Plan& plan,
                        const std::filesystem::path& directory) {
  return openHuggingFace(plan, directory).status();
}

} // namespace reciperun::checkpoint
