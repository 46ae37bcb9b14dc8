// 1. Read rank and alpha from adapter_config.json, and reject settings that
//    this version does not serve.
// 2. Check that each tensor belongs to a parameter of the plan.
// 3. For each parameter that the rank holds, widen the tensor, pad it to the
//    plan's rank, and convert the rank's block.

#include "runtime/checkpoint/LoraAdapter.h"

#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/FiniteCheck.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/ShardLayout.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;
using AdapterConfig = nlohmann::json;

constexpr std::string_view factorA = ".lora_A.weight";
constexpr std::string_view factorB = ".lora_B.weight";

/// The settings in adapter_config.json.
struct AdapterSettings {
  int64_t rank = 0;
  double scale = 1; // of B A
};

std::string inTicks(const std::string& text) {
  return "`" + text + "`";
}

bool isSet(const AdapterConfig& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !found->is_null() && !found->empty() &&
         *found != false && *found != "none";
}

/// Fails for adapters that change more than LoRA's two factors.
Status checkKind(const AdapterConfig& config) {
  const auto kind = config.find("peft_type");
  if (kind == config.end() || *kind != "LORA")
    return Status::error(
        "`peft_type` is " + (kind == config.end() ? "absent" : kind->dump()) +
        ", and a server takes adapters of type \"LORA\"; merge it into "
        "the weights with peft's `merge_and_unload`");
  for (const char* key : {"use_dora", "bias", "lora_bias", "modules_to_save",
                          "rank_pattern", "alpha_pattern"})
    if (isSet(config, key))
      return Status::error(
          inTicks(key) + " is " + config[key].dump() +
          ", which this version does not serve beside a model; merge the "
          "adapter into the weights with peft's `merge_and_unload`");
  return Status::ok();
}

Expected<double> numberOf(const AdapterConfig& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || !found->is_number())
    return Status::error(inTicks(key) + " is " +
                         (found == config.end() ? "absent" : found->dump()) +
                         " instead of a number; save the adapter again with "
                         "peft's `save_pretrained`");
  return found->get<double>();
}

Expected<AdapterSettings> readAdapterSettings(const fs::path& path,
                                              int64_t mostRank) {
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  Expected<AdapterConfig> config = parseJson(*text);
  RECIPERUN_TRY(config);
  if (!config->is_object())
    return Status::error("it is no JSON object");
  RECIPERUN_TRY(checkKind(*config));
  Expected<double> rank = numberOf(*config, "r");
  RECIPERUN_TRY(rank);
  Expected<double> alpha = numberOf(*config, "lora_alpha");
  RECIPERUN_TRY(alpha);
  if (!(*rank >= 1) || *rank != std::floor(*rank))
    return Status::error("`r` is " + (*config)["r"].dump() +
                         " instead of a whole number above 0");
  if (*rank > double(mostRank))
    return Status::error("`r` is " + (*config)["r"].dump() +
                         ", above the plan's `serve.adapter_rank` = " +
                         std::to_string(mostRank) +
                         "; compile the plan with a larger one");
  const bool isStable =
      config->value("use_rslora", AdapterConfig(false)) == true;
  return AdapterSettings{int64_t(*rank),
                         *alpha / (isStable ? std::sqrt(*rank) : *rank)};
}

/// The maximum rank of adapters in the plan: `hfShape` is [adapters, rank, in]
/// for A.
int64_t rankOf(const plan::Plan& plan) {
  for (const plan::Parameter& parameter : plan.parameters)
    if (parameter.adapter && parameter.hfName.ends_with(factorA))
      return parameter.hfShape[1];
  return 0;
}

/// The name of the module that a factor belongs to: `model.layers.0.q_proj`.
std::string moduleOf(std::string_view tensor) {
  constexpr std::string_view prefix = "base_model.model.";
  if (tensor.starts_with(prefix))
    tensor.remove_prefix(prefix.size());
  for (std::string_view factor : {factorA, factorB})
    if (tensor.ends_with(factor))
      tensor.remove_suffix(factor.size());
  return std::string(tensor);
}

class AdapterReader {
public:
  AdapterReader(const plan::Plan& plan, int rank, const SafetensorsFile& file,
                const AdapterSettings& settings)
      : plan(plan), rank(rank), file(file), settings(settings) {}

  Expected<LoraAdapter> run() {
    RECIPERUN_TRY(checkNames());
    LoraAdapter adapter;
    for (const plan::Holding& holding : plan::stageOf(plan, rank).holdings) {
      const plan::Parameter& parameter =
          plan.parameters[size_t(holding.parameter)];
      if (!parameter.adapter)
        continue;
      Expected<std::vector<double>> whole = padded(parameter);
      RECIPERUN_TRY(whole);
      adapter.matrices.push_back(
          {holding.parameter, blockOf(parameter, *whole)});
    }
    return adapter;
  }

private:
  /// Checks that each tensor is a LoRA factor of an op that the plan adapts,
  /// and that the op's other factor is present.
  Status checkNames() const {
    std::unordered_map<std::string_view, const plan::Parameter*> known;
    for (const plan::Parameter& parameter : plan.parameters)
      if (parameter.adapter)
        known.emplace(parameter.hfName, &parameter);
    for (const StoredTensor& tensor : file.tensors()) {
      if (!known.contains(tensor.name))
        return Status::error(
            "it adapts " + inTicks(moduleOf(tensor.name)) +
            ", which the plan does not; compile the plan with it in "
            "`serve.adapter_targets`, or merge the adapter into the weights");
      const bool isA = tensor.name.ends_with(factorA);
      const std::string other =
          tensor.name.substr(0, tensor.name.size() - factorA.size()) +
          std::string(isA ? factorB : factorA);
      if (!file.find(other))
        return Status::error("it has " + inTicks(tensor.name) + " and no " +
                             inTicks(other) +
                             "; save the adapter again with peft's "
                             "`save_pretrained`");
    }
    return Status::ok();
  }

  /// The tensor of a parameter, padded to the plan's rank. Zeros when the
  /// adapter does not have the tensor.
  Expected<std::vector<double>> padded(const plan::Parameter& parameter) const {
    const bool isA = parameter.hfName.ends_with(factorA);
    const int64_t rows = parameter.hfShape[1], columns = parameter.hfShape[2];
    std::vector<double> whole(size_t(rows * columns));
    const StoredTensor* tensor = file.find(parameter.hfName);
    if (!tensor)
      return whole;
    const std::vector<int64_t> shape = {isA ? settings.rank : rows,
                                        isA ? columns : settings.rank};
    Expected<std::vector<double>> values = read(*tensor, shape);
    RECIPERUN_TRY(values);
    const double scale = isA ? 1 : settings.scale;
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t column = 0; column < shape[1]; ++column)
        whole[size_t(row * columns + column)] =
            scale * (*values)[size_t(row * shape[1] + column)];
    return whole;
  }

  Expected<std::vector<double>> read(const StoredTensor& tensor,
                                     const std::vector<int64_t>& shape) const {
    if (tensor.shape != shape)
      return Status::error(inTicks(tensor.name) + " has the shape " +
                           shapeText(tensor.shape) + " instead of " +
                           shapeText(shape) +
                           "; give an adapter that was trained on this model");
    const auto type = findElementType(tensor.dtype);
    if (!type)
      return Status::error(inTicks(tensor.name) + " is of type " +
                           tensor.dtype +
                           "; save the adapter as F32, F16 or BF16");
    std::vector<std::byte> bytes(size_t(tensor.end - tensor.begin));
    RECIPERUN_TRY(file.read(tensor, 0, bytes));
    FiniteCheck finite;
    finite.look(*type, bytes, 0);
    RECIPERUN_TRY(finite.outcome(tensor.name, tensor.shape));
    std::vector<double> values(size_t(shape[0] * shape[1]));
    convertElements(*type, bytes.data(), plan::DType::f64,
                    reinterpret_cast<std::byte*>(values.data()),
                    int64_t(values.size()));
    return values;
  }

  /// The rank's block of one adapter's matrix, in the compute type.
  std::vector<std::byte> blockOf(const plan::Parameter& parameter,
                                 const std::vector<double>& whole) const {
    std::vector<ShardLayout::Dim> dims =
        ShardLayout(parameter, plan.mesh, rank).dimensions();
    dims.erase(dims.begin()); // the adapter's index
    const ShardLayout block(std::move(dims));
    const int64_t size = plan::byteSize(plan.compute);
    std::vector<std::byte> values(size_t(block.elements() * size));
    for (int64_t local = 0; local < block.elements();) {
      const ShardLayout::Piece piece = block.pieceAt(local);
      convertElements(
          ElementType::f64,
          reinterpret_cast<const std::byte*>(whole.data() + piece.global),
          plan.compute, values.data() + local * size, piece.count);
      local += piece.count;
    }
    return values;
  }

  const plan::Plan& plan;
  int rank;
  const SafetensorsFile& file;
  const AdapterSettings& settings;
};

/// The error for a path without adapter_config.json. It says what the path is.
Status noAdapter(const fs::path& directory) {
  const Folder folder = lookAt(directory);
  if (folder.kind == FolderKind::model &&
      isThere(directory / "adapter" / "adapter_config.json"))
    return Status::error(inTicks(directory.string()) +
                         " is a model; give its adapter, " +
                         inTicks((directory / "adapter").string()));
  return Status::error(describe(directory, folder) +
                       "; give a folder with peft's `adapter_config.json`");
}

} // namespace

Expected<LoraAdapter> readLoraAdapter(const plan::Plan& plan, int rank,
                                      const fs::path& directory) {
  const fs::path config = directory / "adapter_config.json";
  const fs::path weights = directory / "adapter_model.safetensors";
  RECIPERUN_TRY(checkListable(directory));
  if (!isThere(config))
    return noAdapter(directory);
  Expected<AdapterSettings> settings =
      readAdapterSettings(config, rankOf(plan));
  RECIPERUN_TRY(settings.status().withContext(inTicks(config.string())));
  Expected<SafetensorsFile> file = SafetensorsFile::open(weights);
  RECIPERUN_TRY(file);
  Expected<LoraAdapter> adapter =
      AdapterReader(plan, rank, *file, *settings).run();
  RECIPERUN_TRY(adapter.status().withContext(inTicks(weights.string())));
  return adapter;
}

Status placeLoraAdapter(const LoraAdapter& adapter, int64_t place,
                        ParameterAccess& access) {
  for (const LoraAdapter::Matrix& matrix : adapter.matrices)
    RECIPERUN_TRY(access.write(matrix.parameter, Content::value,
                               place * int64_t(matrix.values.size()),
                               matrix.values));
  return Status::ok();
}

} // namespace reciperun::checkpoint
