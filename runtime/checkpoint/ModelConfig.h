// Agreement of a model directory's config.json with the plan's.
//
// The plan carries the config.json that the recipe's model stands for. Loading
// weights that were made for another model gives numbers without meaning, so
// that every key that both hold must agree before a tensor is read.

#ifndef RECIPERUN_CHECKPOINT_MODELCONFIG_H
#define RECIPERUN_CHECKPOINT_MODELCONFIG_H

#include "runtime/plan/Status.h"

#include <filesystem>
#include <string_view>

namespace reciperun::checkpoint {

/// Compares the file `path` with the text of the plan's config. Keys that do
/// not change what the weights mean (versions, dtype, token ids ...) are left
/// out; transformers 5's `rope_parameters` is read as the older `rope_theta`
/// and `rope_scaling`; numbers agree to 1e-6 relative. The error names the key
/// and both values.
Status checkModelConfig(const std::filesystem::path& path,
                        std::string_view planConfig);

/// The same for a text; `place` says in messages where it is from.
Status checkModelConfig(const std::string& place, std::string_view config,
                        std::string_view planConfig);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_MODELCONFIG_H
