// Compares a config.json with the plan's:
// 1. Convert the rope settings of both to the older spelling.
// 2. Add transformers' defaults for keys that may be absent.
// 3. Compare the keys that both have.

#include "runtime/checkpoint/ModelConfig.h"

#include "runtime/base/ParseJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace reciperun::checkpoint {
namespace {

using Json = nlohmann::json;

/// Keys that do not affect what the weights compute.
constexpr std::string_view cosmeticKeys[] = {
    "_attn_implementation",
    "_name_or_path",
    "attention_dropout",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "initializer_range",
    "max_position_embeddings",
    "num_nextn_predict_layers",
    "pad_token_id",
    "pretraining_tp",
    "torch_dtype",
    "transformers_version",
    "use_cache",
};

bool isCosmetic(const std::string& key) {
  return std::find(std::begin(cosmeticKeys), std::end(cosmeticKeys), key) !=
         std::end(cosmeticKeys);
}

/// Normalizes a rope record: `type` becomes `rope_type`, and the type `default`
/// becomes null.
Json normalizedScaling(Json scaling) {
  if (!scaling.is_object())
    return nullptr;
  if (scaling.contains("type") && !scaling.contains("rope_type"))
    scaling["rope_type"] = scaling["type"];
  scaling.erase("type");
  scaling.erase("rope_theta");
  if (!scaling.contains("rope_type") || scaling["rope_type"] == "default")
    return nullptr;
  return scaling;
}

/// Normalizes a config: rope settings become `rope_theta` and `rope_scaling`,
/// and absent keys get transformers' defaults.
Json normalized(Json config) {
  if (config.contains("rope_parameters")) {
    const Json parameters = config["rope_parameters"];
    if (parameters.is_object() && parameters.contains("rope_theta"))
      config["rope_theta"] = parameters["rope_theta"];
    config["rope_scaling"] = parameters;
    config.erase("rope_parameters");
  }
  config["rope_scaling"] =
      normalizedScaling(config.value("rope_scaling", Json()));
  if (!config.contains("rope_theta"))
    config["rope_theta"] = 10000.0;
  if (!config.contains("tie_word_embeddings"))
    config["tie_word_embeddings"] = false;
  return config;
}

bool agree(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    double x = a.get<double>();
    double y = b.get<double>();
    // Some writers round numbers to float first.
    return std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));
  }
  if (a.is_object() && b.is_object())
    return std::all_of(a.items().begin(), a.items().end(),
                       [&](const auto& member) {
                         return !b.contains(member.key()) ||
                                agree(member.value(), b[member.key()]);
                       });
  return a == b;
}

Expected<Json> comparableConfig(std::string_view text) {
  Expected<Json> json = parseModelConfig(text);
  RECIPERUN_TRY(json);
  return normalized(*std::move(json));
}

} // namespace

Expected<Json> parseModelConfig(std::string_view text) {
  Expected<Json> json =
      parseJson(text, {.maxBytes = size_t(16) << 20, .takesInfinity = true});
  if (json && !json->is_object())
    return Status::error("it is no JSON object");
  return json;
}

Expected<std::vector<ConfigDifference>>
configDifferences(const std::string& place, std::string_view config,
                  std::string_view planConfig) {
  Expected<Json> theirs = comparableConfig(config);
  RECIPERUN_TRY(theirs.status().withContext(place));
  Expected<Json> ours = comparableConfig(planConfig);
  RECIPERUN_TRY(ours.status().withContext("the plan's config.json"));
  std::vector<ConfigDifference> differences;
  for (const auto& [key, value] : ours->items())
    if (!isCosmetic(key) && theirs->contains(key) &&
        !agree(value, (*theirs)[key]))
      differences.push_back({key, (*theirs)[key].dump(), value.dump()});
  return differences;
}

Status checkModelConfig(const std::string& place, std::string_view config,
                        std::string_view planConfig) {
  const auto differences = configDifferences(place, config, planConfig);
  RECIPERUN_TRY(differences);
  if (differences->empty())
    return Status::ok();
  const ConfigDifference& first = differences->front();
  return Status::error(place + ": `" + first.key + "` is " + first.theirs +
                       ", but the recipe's model has " + first.ours +
                       "; choose the model that these weights are of");
}

} // namespace reciperun::checkpoint
