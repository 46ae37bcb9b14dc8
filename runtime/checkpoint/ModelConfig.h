// Checks that the config.json of a model directory agrees with the plan's.
//
// The plan has a config.json that describes the recipe's model. Weights of
// another model could be loaded but would give meaningless results, so all keys
// that both files have must agree before a tensor is read.

#ifndef RECIPERUN_CHECKPOINT_MODELCONFIG_H
#define RECIPERUN_CHECKPOINT_MODELCONFIG_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// Parses the text of a config.json or generation_config.json. Fails when it is
/// not a JSON object.
Expected<nlohmann::json> parseModelConfig(std::string_view text);

/// A key of config.json with different values in a file (`theirs`) and in the
/// plan (`ours`), both as JSON.
struct ConfigDifference {
  std::string key;
  std::string theirs;
  std::string ours;
};

/// All differences, in the order of their keys; see checkModelConfig().
Expected<std::vector<ConfigDifference>>
configDifferences(const std::string& place, std::string_view config,
                  std::string_view planConfig);

/// Checks that a config.json agrees with the plan's; `place` names its origin
/// in messages. Ignores keys that do not affect what the weights compute
/// (versions, dtype, token ids ...). Treats transformers 5's `rope_parameters`
/// like the older `rope_theta` and `rope_scaling`. Compares numbers with a
/// relative tolerance of 1e-6. The error names the key and both values.
Status checkModelConfig(const std::string& place, std::string_view config,
                        std::string_view planConfig);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_MODELCONFIG_H
