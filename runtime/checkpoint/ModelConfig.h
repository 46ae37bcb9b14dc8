// Agreement of a model directory's config.json with the plan's.
//
// The plan carries the config.json that the recipe's model stands for. Loading
// weights that were made for another model gives numbers without meaning, so
// that every key that both hold must agree before a tensor is read.

#ifndef RECIPERUN_CHECKPOINT_MODELCONFIG_H
#define RECIPERUN_CHECKPOINT_MODELCONFIG_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// Reads the text of a config.json, or of a generation_config.json beside it;
/// fails where it is no JSON object.
Expected<nlohmann::json> parseModelConfig(std::string_view text);

/// A key of config.json about which a file and the plan disagree; values as
/// JSON.
struct ConfigDifference {
  std::string key;
  std::string theirs;
  std::string ours;
};

/// All of them, in the order of their names; see checkModelConfig().
Expected<std::vector<ConfigDifference>>
configDifferences(const std::string& place, std::string_view config,
                  std::string_view planConfig);

/// Compares a config.json with the text of the plan's; `place` says in messages
/// where it is from. Keys that do not change what the weights mean (versions,
/// dtype, token ids ...) are left out; transformers 5's `rope_parameters` is
/// read as the older `rope_theta` and `rope_scaling`; numbers agree to 1e-6
/// relative. The error names the key and both values.
Status checkModelConfig(const std::string& place, std::string_view config,
                        std::string_view planConfig);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_MODELCONFIG_H
