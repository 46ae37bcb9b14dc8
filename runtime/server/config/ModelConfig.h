// Reads the configuration of a model: config.pbtxt, in protobuf's text format,
// or JSON.
//
//   1. Template variables that were not filled in, `${name}`, are left out.
//   2. The text is parsed; unknown fields are mistakes (ConfigText.h).
//   3. Defaults are filled in.
//   4. All checks that need no other model run (ConfigChecks.h).
//   5. Values of TensorRT-LLM's parameters are checked (TensorRtLlm.h).
//
// Files are untrusted: their size, depth and counts are limited. Messages name
// files by their path in the model's folder.

#ifndef RECIPERUN_SERVER_CONFIG_MODELCONFIG_H
#define RECIPERUN_SERVER_CONFIG_MODELCONFIG_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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

/// The ids of the GPUs that instances may run on. Nothing: they are not known,
/// and configurations may name any.
using ServerGpus = std::optional<std::set<int32_t>>;

/// Reads the config.pbtxt in a model's folder, or configs/NAME.pbtxt below it
/// where there is one and `configName` is NAME. Fails where it is no file of
/// the folder, is too large, cannot be parsed or is invalid. The failure has a
/// line for each mistake: Triton's text, then the place, as in
/// `'max_batch_size' must be non-negative value for m (config.pbtxt:3:1:
/// `max_batch_size`)`.
Expected<ReadConfig> readModelConfig(const std::filesystem::path& folder,
                                     const std::string& model,
                                     const std::string& configName = "",
                                     const ServerGpus& gpus = std::nullopt);

/// Reads a configuration from the JSON text of a request to load a model.
Expected<ReadConfig> readModelConfigJson(std::string_view json,
                                         const std::string& model,
                                         const ServerGpus& gpus = std::nullopt);

/// Parses config.pbtxt, completes and verifies it. `file` names it in messages.
Expected<ReadConfig> parseModelConfig(std::string_view text,
                                      const std::string& model,
                                      const std::string& file,
                                      const ServerGpus& gpus = std::nullopt);

/// The configuration as KServe's protocol sends it: names as in config.pbtxt,
/// with default values, and 64-bit integers as numbers.
Expected<std::string> jsonOfConfig(const inference::ModelConfig& config);

/// Fills in what a configuration leaves out: the version policy (the latest
/// version), the backend of a platform, one instance group, names, kinds and
/// counts of groups, preferred batch sizes, how long sequences may be idle, and
/// pinned memory. Delays of more than 100 years become 100 years.
void completeModelConfig(inference::ModelConfig& config,
                         const ServerGpus& gpus = std::nullopt);

/// Ok, or the first mistake of a complete configuration in Triton's words. It
/// needs no other model.
Status checkModelConfig(const inference::ModelConfig& config,
                        const ServerGpus& gpus = std::nullopt);

using FindConfig = std::function<std::shared_ptr<const inference::ModelConfig>(
    const std::string& model, int64_t version)>;

/// Ok, or the first mistake between a verified ensemble and the models of its
/// steps, in Triton's words. `find` gives null for a model that is not in
/// service; its version is -1 for the latest.
Status checkEnsemble(const inference::ModelConfig& ensemble,
                     const FindConfig& find);

/// Ok, or Triton's text where ensembles contain each other, directly or through
/// others, beginning with `ensemble`.
Status checkCircularEnsembles(const inference::ModelConfig& ensemble,
                              const FindConfig& find);

/// The version folders of a model, ascending. Names with a leading zero or
/// another character than digits are no versions.
std::vector<int64_t> versionFolders(const std::filesystem::path& folder);

/// Those of the version folders that the model's version policy serves.
std::vector<int64_t> versionsOf(const std::filesystem::path& folder,
                                const inference::ModelConfig& config);

/// Reads a file of a model, such as the labels of an output. `file` is relative
/// to the model's folder, or to the folder `below` in it. Fails where it is no
/// regular file below that folder, also after symbolic links, or is larger than
/// `mostBytes`.
Expected<std::string> readModelFile(const std::filesystem::path& folder,
                                    const std::filesystem::path& file,
                                    int64_t mostBytes = int64_t(4) << 20,
                                    const std::string& below = "");

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_MODELCONFIG_H
