// See QuantizedFiles.h.

#include "runtime/checkpoint/quantized/QuantizedFiles.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/quantize/Quantizers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

using sizes::WeightFormat;
using OrderedJson = nlohmann::ordered_json;

/// Modules of matrices that are not quantized, except embeddings.
OrderedJson ignoredModules(const std::vector<QuantizationJob>& jobs) {
  OrderedJson names = OrderedJson::array();
  for (const QuantizationJob& job : jobs)
    if (!job.isQuantized && job.rows > 0 && job.name.ends_with(".weight") &&
        job.name.find("embed") == std::string::npos)
      names.push_back(job.module());
  const bool hasHead =
      std::any_of(names.begin(), names.end(),
                  [](const OrderedJson& name) { return name == "lm_head"; });
  if (!hasHead) // tied to the embedding
    names.push_back("lm_head");
  return names;
}

OrderedJson compressedTensorsConfig(const std::vector<QuantizationJob>& jobs,
                                    WeightFormat format) {
  const bool isFloat = format == WeightFormat::fp8,
             isGrouped = quantize::usualScheme(format).scales ==
                         sizes::WeightScales::groups;
  OrderedJson weights;
  weights["num_bits"] = format == WeightFormat::int4 ? 4 : 8;
  weights["type"] = isFloat ? "float" : "int";
  weights["symmetric"] = true;
  weights["strategy"] = isGrouped ? "group" : "channel";
  weights["group_size"] =
      isGrouped ? OrderedJson(sizes::weightGroup) : OrderedJson();
  weights["dynamic"] = false;
  OrderedJson group;
  group["targets"] = {"Linear"};
  group["weights"] = std::move(weights);
  group["input_activations"] = nullptr;
  group["output_activations"] = nullptr;
  OrderedJson config;
  config["quant_method"] = "compressed-tensors";
  config["format"] = isFloat ? "float-quantized" : "pack-quantized";
  config["quantization_status"] = "compressed";
  config["config_groups"]["group_0"] = std::move(group);
  config["ignore"] = ignoredModules(jobs);
  config["kv_cache_scheme"] = nullptr;
  return config;
}

OrderedJson modelOptConfig(const std::vector<QuantizationJob>& jobs,
                           const QuantizeOptions& options) {
  OrderedJson quantization;
  if (options.format == WeightFormat::fp8) {
    quantization["quant_algo"] = "FP8_PER_CHANNEL_PER_TOKEN";
  } else {
    quantization["quant_algo"] = "W4A16_AWQ";
    quantization["group_size"] = sizes::weightGroup;
    quantization["has_zero_point"] = false;
    quantization["pre_quant_scale"] = bool(options.calibrate);
  }
  quantization["kv_cache_quant_algo"] = nullptr;
  quantization["exclude_modules"] = ignoredModules(jobs);
  OrderedJson config;
  config["producer"] = {{"name", "reciperun"}, {"version", "1"}};
  config["quantization"] = std::move(quantization);
  return config;
}

Status writeJson(const fs::path& path, const OrderedJson& json) {
  return writeTextFile(path, json.dump(2) + "\n");
}

} // namespace

Status writeQuantizedConfig(const ModelFiles& model, const fs::path& target,
                            const std::vector<QuantizationJob>& jobs,
                            const QuantizeOptions& options) {
  const fs::path path = model.directory() / "config.json";
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  JsonRules rules;
  rules.takesInfinity = true;
  Expected<OrderedJson> config = parseOrderedJson(*text, rules);
  if (!config)
    return config.status().withContext("`" + path.string() + "`");
  if (!config->is_object())
    return Status::error("`" + path.string() + "` is no JSON object");
  config->erase("quantization_config");
  if (options.layout == QuantizedLayout::modelOpt)
    RECIPERUN_TRY(writeJson(target / "hf_quant_config.json",
                            modelOptConfig(jobs, options)));
  else
    (*config)["quantization_config"] =
        compressedTensorsConfig(jobs, options.format);
  return writeJson(target / "config.json", *config);
}

Status copySmallFiles(const ModelFiles& model, const fs::path& target) {
  const std::set<std::string> kinds = {".json", ".jinja", ".txt", ".model",
                                       ".md"};
  const auto entries = entriesOf(model.directory());
  RECIPERUN_TRY(entries);
  for (const fs::path& entry : *entries) {
    const std::string name = entry.filename().string();
    if (!kinds.contains(entry.extension().string()) ||
        reciperun::typeOf(entry) != fs::file_type::regular ||
        name == "config.json" || name == "hf_quant_config.json" ||
        name.ends_with(".index.json") || name.ends_with(".plan.json"))
      continue;
    const Expected<std::string> text = readTextFile(entry);
    RECIPERUN_TRY(text);
    RECIPERUN_TRY(writeTextFile(target / name, *text));
  }
  return Status::ok();
}

} // namespace reciperun::checkpoint
