// Reads configurations from JSON.

#ifndef RECIPERUN_SERVER_CONFIG_CONFIGJSON_H
#define RECIPERUN_SERVER_CONFIG_CONFIGJSON_H

#include "runtime/base/Status.h"

#include <memory>
#include <string_view>

namespace inference {
class ModelConfig; // model_config.proto
} // namespace inference

namespace reciperun::server {

/// The configuration as it stands in the text. Names are those of config.pbtxt,
/// or in camel case; 64-bit integers are numbers or texts. Fails with all
/// unknown fields, or with the first other mistake, after Triton's `Invalid
/// config override: `.
Expected<std::shared_ptr<inference::ModelConfig>>
parseConfigJson(std::string_view text);

/// Whether all texts are UTF-8, as messages of protobuf and JSON need.
bool areTextsUtf8(const inference::ModelConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_CONFIGJSON_H
