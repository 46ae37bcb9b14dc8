// The order of the checks, and those of a model as a whole: see ConfigChecks.h.

#include "runtime/server/config/ConfigChecks.h"
#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace reciperun::server {
namespace {

using inference::ModelConfig;

/// Batches are held in memory.
constexpr int mostBatch = 1 << 20;
constexpr const char* ensemblePlatform = "ensemble";

/// Triton's backends that have platforms. They are known, so that a wrong pair
/// gets Triton's message; this server runs none of them.
struct PlatformRow {
  std::string_view platform, backend;
};
constexpr auto platforms =
    std::to_array<PlatformRow>({{"tensorrt_plan", "tensorrt"},
                                {"onnxruntime_onnx", "onnxruntime"},
                                {"tensorflow_graphdef", "tensorflow"},
                                {"tensorflow_savedmodel", "tensorflow"},
                                {"pytorch_libtorch", "pytorch"},
                                {"torch_aoti", "pytorch"}});

/// Backends of this server may be named as platforms.
constexpr auto ownPlatforms = std::to_array<std::string_view>(
    {"recipec", "tensorrtllm", "python", "add_sub", "identity"});

void checkBackend(const ModelConfig& config, ConfigMistakes& found) {
  const std::string& name = config.name();
  const std::string& platform = config.platform();
  const std::string& backend = config.backend();
  if (platform.empty() && backend.empty())
    return found.push_back(
        {"must specify 'platform' or 'backend' for '" + name + "'", "backend"});
  if (platform == ensemblePlatform) {
    if (!backend.empty())
      found.push_back({"Ensemble model '" + name +
                           "' must have platform type '" + platform +
                           "' and empty backend type",
                       "backend"});
    return;
  }
  if (backend.empty()) {
    if (std::ranges::find(ownPlatforms, platform) == ownPlatforms.end())
      found.push_back(
          {"unexpected platform type '" + platform + "' for " + name,
           "platform"});
    return;
  }
  const auto isOfBackend = [&](const PlatformRow& row) {
    return row.backend == backend;
  };
  const bool fits = std::ranges::none_of(platforms, isOfBackend) ||
                    std::ranges::any_of(platforms, [&](const PlatformRow& row) {
                      return isOfBackend(row) && row.platform == platform;
                    });
  if (!fits)
    found.push_back({"unexpected 'platform' and 'backend' pair, got:" +
                         platform + ", " + backend,
                     "platform"});
}

void checkBatchSize(const ModelConfig& config, ConfigMistakes& found) {
  if (config.max_batch_size() < 0)
    found.push_back(
        {"'max_batch_size' must be non-negative value for " + config.name(),
         "max_batch_size"});
  if (config.max_batch_size() > mostBatch)
    found.push_back({"'max_batch_size' must be at most " +
                         std::to_string(mostBatch) + " for " + config.name(),
                     "max_batch_size"});
  if (!config.has_version_policy())
    found.push_back({"must specify 'version policy' for " + config.name(),
                     "version_policy"});
}

/// An ensemble has steps, and none of what only instances have.
void checkEnsembleFields(const ModelConfig& config, ConfigMistakes& found) {
  const std::string own = "ensemble '" + config.name() + "'";
  const bool isEnsemble = config.platform() == ensemblePlatform;
  if (!config.has_ensemble_scheduling()) {
    if (isEnsemble)
      found.push_back({"ensemble scheduling must be set for ensemble " +
                           config.name() + " whose platform is " +
                           ensemblePlatform,
                       "platform"});
    return;
  }
  if (!isEnsemble)
    return found.push_back({"ensemble scheduling cannot be set for model '" +
                                config.name() + "' whose platform is not " +
                                ensemblePlatform,
                            "ensemble_scheduling"});
  if (!config.instance_group().empty())
    found.push_back({"instance group should not be specified for " + own,
                     "instance_group"});
  if (config.has_optimization())
    found.push_back(
        {"optimization should not be specified for " + own, "optimization"});
  if (!config.model_warmup().empty())
    found.push_back(
        {"model_warmup can not be specified for " + own, "model_warmup"});
  checkEnsembleSteps(config, found);
}

void checkCache(const ModelConfig& config, ConfigMistakes& found) {
  if (!config.response_cache().enable())
    return;
  const auto add = [&](const std::string& with) {
    found.push_back({"Response Cache does not currently support model " +
                         config.name() + " with " + with +
                         ". Please disable the response cache.",
                     "response_cache"});
  };
  if (config.has_sequence_batching())
    add("sequence batching scheduler");
  if (config.model_transaction_policy().decoupled())
    add("'decoupled' transaction policy");
}

void checkMetrics(const ModelConfig& config, ConfigMistakes& found) {
  const auto& all = config.model_metrics().metric_control();
  for (int i = 0; i < all.size(); ++i) {
    const auto& control = all[i];
    const FieldPath path = (FieldPath("model_metrics") / "metric_control")[i];
    const auto& buckets = control.histogram_options().buckets();
    const auto isNumber = [](double bound) { return std::isfinite(bound); };
    if (!control.has_metric_identifier())
      found.push_back(
          {"metric control must specify 'metric_identifier'", path});
    else if (control.metric_identifier().family().empty())
      found.push_back(
          {"metric identifier must specify non-empty 'family'", path});
    else if (!control.has_histogram_options())
      found.push_back(
          {"metric control must specify 'histogram_options'", path});
    else if (buckets.empty())
      found.push_back(
          {"histogram options must specify non-empty 'buckets'", path});
    else if (!std::ranges::all_of(buckets, isNumber) ||
             !std::ranges::is_sorted(buckets, std::less_equal<double>()))
      found.push_back({"histogram options must specify 'buckets' that rise",
                       path / "histogram_options" / "buckets"});
  }
}

} // namespace

ConfigMistakes mistakesOf(const ModelConfig& config, const ServerGpus& gpus) {
  ConfigMistakes found;
  checkBackend(config, found);
  checkBatchSize(config, found);
  checkDynamicBatching(config, found);
  checkSequenceBatching(config, found);
  checkEnsembleFields(config, found);
  checkCache(config, found);
  checkMetrics(config, found);
  checkTensors(config, found);
  checkBatchTensors(config, found);
  checkWarmup(config, found);
  checkInstanceGroups(config, gpus, found);
  return found;
}

Status checkModelConfig(const ModelConfig& config, const ServerGpus& gpus) {
  const ConfigMistakes found = mistakesOf(config, gpus);
  return found.empty()
             ? Status::ok()
             : Status::error(found.front().text, StatusCode::invalidArgument);
}

} // namespace reciperun::server
