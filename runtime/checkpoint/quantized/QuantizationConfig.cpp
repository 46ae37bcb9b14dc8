// See QuantizationConfig.h. The fields are those of transformers' and vLLM's
// readers: `weight_block_size` of fp8; `config_groups` of compressed-tensors;
// `quant_algo` and `group_size` of ModelOpt.

#include "runtime/checkpoint/quantized/QuantizationConfig.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;
using Names = std::initializer_list<std::string_view>;

/// A JSON value of a file, and its path for messages.
struct ConfigNode {
  const Json& json;
  std::string where;

  ConfigNode at(const char* key) const {
    static const Json none;
    const bool isThere = json.is_object() && json.contains(key);
    return {isThere ? json[key] : none, where + "." + key};
  }
  bool isThere() const { return !json.is_null(); }
  std::string text() const {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }
  int64_t integer() const {
    return json.is_number_integer() ? json.get<int64_t>() : 0;
  }
};

std::string listedNames(Names names) {
  std::string text;
  size_t at = 0;
  for (std::string_view name : names) {
    text += at == 0 ? "`" : at + 1 == names.size() ? "` and `" : "`, `";
    text += name;
    ++at;
  }
  return text + "`";
}

Status unsupported(const ConfigNode& node, Names supported) {
  return Status::error(node.where + " = `" + node.text() +
                       "` is not supported, only " + listedNames(supported));
}

Status expectOneOf(const ConfigNode& node, Names supported) {
  return std::find(supported.begin(), supported.end(), node.text()) !=
                 supported.end()
             ? Status::ok()
             : unsupported(node, supported);
}

Status readBlock(const ConfigNode& block, QuantizationConfig& config) {
  if (!block.isThere())
    return Status::ok();
  const Json& sizes = block.json;
  if (!sizes.is_array() || sizes.size() != 2 || !sizes[0].is_number_integer() ||
      !sizes[1].is_number_integer() || sizes[0] < 1 || sizes[1] < 1)
    return Status::error(block.where + " = `" + block.text() +
                         "` is not a list of two sizes");
  config.blockRows = sizes[0];
  config.blockColumns = sizes[1];
  return Status::ok();
}

Status readGroupSize(const ConfigNode& size, QuantizationConfig& config) {
  if (!size.isThere() || size.integer() == -1) // -1: whole rows
    return Status::ok();
  if (size.integer() < 1)
    return Status::error(size.where + " = `" + size.text() +
                         "` is not a number of elements");
  config.blockRows = 1;
  config.blockColumns = size.integer();
  return Status::ok();
}

/// Reads the section `weights` of one of compressed-tensors' groups.
Status readWeights(const ConfigNode& weights, QuantizationConfig& config) {
  if (!weights.isThere())
    return Status::error(weights.where + " is missing");
  RECIPERUN_TRY(expectOneOf(weights.at("type"), {"int", "float"}));
  const bool isFloat = weights.at("type").text() == "float";
  if (isFloat)
    RECIPERUN_TRY(expectOneOf(weights.at("num_bits"), {"8"}));
  else
    RECIPERUN_TRY(expectOneOf(weights.at("num_bits"), {"4", "8"}));
  RECIPERUN_TRY(expectOneOf(weights.at("strategy"),
                            {"tensor", "channel", "group", "block"}));
  if (weights.at("symmetric").isThere())
    RECIPERUN_TRY(expectOneOf(weights.at("symmetric"), {"true"}));
  if (weights.at("strategy").text() == "block")
    return readBlock(weights.at("block_structure"), config);
  return readGroupSize(weights.at("group_size"), config);
}

/// The bits of the weights in all groups, or 0 when groups differ.
int64_t widthOfAll(const ConfigNode& groups) {
  int64_t bits = 0;
  for (const auto& [name, group] : groups.json.items()) {
    const int64_t own =
        ConfigNode{group, name}.at("weights").at("num_bits").integer();
    if (bits != 0 && own != bits)
      return 0;
    bits = own;
  }
  return bits;
}

Status readCompressedTensors(const ConfigNode& node,
                             QuantizationConfig& config) {
  config.method = QuantizationConfig::Method::compressedTensors;
  if (node.at("format").isThere())
    RECIPERUN_TRY(
        expectOneOf(node.at("format"), {"pack-quantized", "float-quantized",
                                        "int-quantized", "naive-quantized"}));
  const ConfigNode groups = node.at("config_groups");
  if (!groups.json.is_object())
    return Status::error(groups.where + " is missing");
  for (const auto& [name, group] : groups.json.items())
    RECIPERUN_TRY(readWeights(
        ConfigNode{group, groups.where + "." + name}.at("weights"), config));
  config.integerBits = widthOfAll(groups);
  return Status::ok();
}

Status readModelOpt(const ConfigNode& node, QuantizationConfig& config) {
  config.method = QuantizationConfig::Method::modelOpt;
  RECIPERUN_TRY(expectOneOf(node.at("quant_algo"),
                            {"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO",
                             "W8A16", "W4A16", "W4A16_AWQ"}));
  if (node.at("quant_algo").text() == "FP8_PB_WO")
    config.blockRows = config.blockColumns = 128;
  return readGroupSize(node.at("group_size"), config);
}

Expected<Json> readConfigJson(const fs::path& path) {
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  JsonRules rules;
  rules.takesInfinity = true;
  Expected<Json> json = parseJson(*text, rules);
  if (!json)
    return json.status().withContext("`" + path.string() + "`");
  return json;
}

Expected<std::optional<QuantizationConfig>>
parseQuantization(const Json& json, std::string where) {
  QuantizationConfig config;
  config.where = where;
  const ConfigNode node = {json, std::move(where)};
  const ConfigNode method = node.at("quant_method");
  RECIPERUN_TRY(expectOneOf(method, {"fp8", "compressed-tensors", "modelopt"}));
  if (method.text() == "compressed-tensors")
    RECIPERUN_TRY(readCompressedTensors(node, config));
  else if (method.text() == "modelopt")
    RECIPERUN_TRY(readModelOpt(node, config));
  else
    RECIPERUN_TRY(readBlock(node.at("weight_block_size"), config));
  return std::optional(std::move(config));
}

} // namespace

Expected<std::optional<QuantizationConfig>>
readQuantizationConfig(const fs::path& directory) {
  const fs::path config = directory / "config.json";
  if (!isAbsent(config)) {
    Expected<Json> json = readConfigJson(config);
    RECIPERUN_TRY(json);
    if (json->is_object() && json->contains("quantization_config") &&
        !(*json)["quantization_config"].is_null())
      return parseQuantization((*json)["quantization_config"],
                               "`" + config.string() +
                                   "`: quantization_config");
  }
  const fs::path apart = directory / "hf_quant_config.json";
  if (isAbsent(apart))
    return std::optional<QuantizationConfig>();
  Expected<Json> json = readConfigJson(apart);
  RECIPERUN_TRY(json);
  const ConfigNode node = ConfigNode{*json, "`" + apart.string() + "`"};
  QuantizationConfig found;
  found.where = node.where;
  const Json none;
  const Json& inner = json->is_object() && json->contains("quantization")
                          ? (*json)["quantization"]
                          : none;
  const ConfigNode quantization = {inner, node.where + ": quantization"};
  if (!quantization.at("quant_algo").isThere())
    return std::optional<QuantizationConfig>();
  RECIPERUN_TRY(readModelOpt(quantization, found));
  return std::optional(std::move(found));
}

} // namespace reciperun::checkpoint
