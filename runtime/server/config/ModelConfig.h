// Reads the configuration of a model: config.pbtxt, in protobuf's text format,
// or JSON.

#ifndef RECIPERUN_SERVER_CONFIG_MODELCONFIG_H
#define RECIPERUN_SERVER_CONFIG_MODELCONFIG_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inference {
class ModelConfig; // model_config.proto
} // namespace inference

namespace reciperun::server {

struct ReadConfig {
  std::shared_ptr<inference::ModelConfig> config; // complete and verified
  std::vector<std::string> warnings; // each names the file and the field
};

/// Reads the config.pbtxt in a model's folder, or configs/NAME.pbtxt below it
/// where there is one and `configName` is NAME. Fails with all mistakes of the
/// file, each with its line: it is no file of the folder, is too large, cannot
/// be parsed, or is invalid (checkModelConfig).
Expected<ReadConfig> readModelConfig(const std::filesystem::path& folder,
                                     const std::string& model,
                                     const std::string& configName = "");

/// Reads a configuration from the JSON text of a request to load a model.
Expected<ReadConfig> readModelConfigJson(std::string_view json,
                                         const std::string& model);

/// Parses config.pbtxt. Fields whose value is a template's variable that was
/// not filled in, `${name}`, count as absent. `file` names it in messages.
Expected<ReadConfig> parseModelConfig(std::string_view text,
                                      const std::string& model,
                                      const std::string& file);

/// The configuration as KServe's protocol sends it: names as in config.pbtxt,
/// with default values, and 64-bit integers as numbers.
Expected<std::string> jsonOfConfig(const inference::ModelConfig& config);

/// Ok, or the first mistake of a configuration in Triton's words. It needs no
/// other model.
Status checkModelConfig(const inference::ModelConfig& config);

using FindConfig = std::function<std::shared_ptr<const inference::ModelConfig>(
    const std::string& model, int64_t version)>;

/// Ok, or the first mistake between an ensemble and the models of its steps, in
/// Triton's words. `find` gives null for a model that is not in service.
Status checkEnsemble(const inference::ModelConfig& ensemble,
                     const FindConfig& find);

/// The version folders of a model that its version policy serves, ascending.
/// Names with a leading zero or another character than digits are no versions.
std::vector<int64_t> versionsOf(const std::filesystem::path& folder,
                                const inference::ModelConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_MODELCONFIG_H
