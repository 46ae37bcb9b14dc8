// Parses config.pbtxt with messages that name the line and the field.

#ifndef RECIPERUN_SERVER_CONFIG_CONFIGTEXT_H
#define RECIPERUN_SERVER_CONFIG_CONFIGTEXT_H

#include "runtime/server/config/ModelConfig.h"

#include <string>
#include <string_view>

namespace reciperun::server {

/// The configuration as it stands in the text. Fails with one line for each
/// mistake: `config.pbtxt:3:5: unknown field `max_batch`; did you mean
/// `max_batch_size`?`
Expected<ReadConfig> parseConfigText(std::string_view text,
                                     const std::string& file);

/// The text with the fields and list elements whose value is `${name}` blanked
/// out. Those in quotes stay.
std::string withoutVariables(std::string_view text);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_CONFIGTEXT_H
