// Reads each field with the type and range of its counterpart.

#include "runtime/serve/sampling/GenerationConfig.h"

#include "runtime/base/InputFile.h"
#include "runtime/checkpoint/ModelConfig.h"
#include "runtime/serve/sampling/SamplingRanges.h"

#include <nlohmann/json.hpp>

#include <type_traits>

namespace reciperun::serve {
namespace {

using ConfigJson = nlohmann::json;

/// Stores the field `key`, if the file has it.
template <class T>
Status readField(const ConfigJson& json, const char* key,
                 const SamplingRange& range, std::optional<T>& target) {
  const ConfigJson value = json.value(key, ConfigJson());
  if (value.is_null())
    return Status::ok();
  constexpr bool isWhole = std::is_integral_v<T>;
  const bool overflows =
      value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  const bool hasType =
      isWhole ? value.is_number_integer() && !overflows : value.is_number();
  if (!hasType || !range.contains(value.get<double>()))
    return Status::error("`" + std::string(key) + "` is " + value.dump() +
                         ", but must be a " + (isWhole ? "whole " : "") +
                         "number, " + range.text());
  target = value.get<T>();
  return Status::ok();
}

Expected<GenerationConfig> configOf(const ConfigJson& json) {
  GenerationConfig config;
  std::optional<double> temperature;
  RECIPERUN_TRY(readField(json, "temperature", temperatureRange, temperature));
  RECIPERUN_TRY(readField(json, "top_k", topKRange, config.topK));
  RECIPERUN_TRY(readField(json, "top_p", topPRange, config.topP));
  RECIPERUN_TRY(readField(json, "min_p", minPRange, config.minP));
  RECIPERUN_TRY(readField(json, "repetition_penalty", repetitionPenaltyRange,
                          config.repetitionPenalty));
  RECIPERUN_TRY(
      readField(json, "max_new_tokens", maxTokensRange, config.maxTokens));
  RECIPERUN_TRY(
      readField(json, "min_new_tokens", minTokensRange, config.minTokens));
  const ConfigJson samples = json.value("do_sample", ConfigJson());
  if (!samples.is_null() && !samples.is_boolean())
    return Status::error("`do_sample` is " + samples.dump() +
                         ", but must be true or false");
  if (samples == true)
    config.temperature = temperature.value_or(1);
  return config;
}

} // namespace

Expected<GenerationConfig>
readGenerationConfig(const std::filesystem::path& path) {
  const std::string place = "`" + path.string() + "`";
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  Expected<ConfigJson> json = checkpoint::parseModelConfig(*text);
  RECIPERUN_TRY(json.status().withContext(place));
  Expected<GenerationConfig> config = configOf(*json);
  RECIPERUN_TRY(config.status().withContext(place));
  return config;
}

} // namespace reciperun::serve
