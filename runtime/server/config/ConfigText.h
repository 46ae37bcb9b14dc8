// Parses config.pbtxt with messages that name the line and the field.

#ifndef RECIPERUN_SERVER_CONFIG_CONFIGTEXT_H
#define RECIPERUN_SERVER_CONFIG_CONFIGTEXT_H

#include "runtime/server/config/FieldPath.h"
#include "runtime/server/config/ModelConfig.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

struct ConfigText {
  std::shared_ptr<inference::ModelConfig> config; // as it stands in the text
  std::vector<std::string> warnings;
  /// `FILE:LINE:COLUMN` of a field, or of the message that lacks it; the file
  /// where neither is in the text.
  std::function<std::string(const FieldPath&)> placeOf;
};

/// Template variables count as unset, with a warning. Fails with one line for
/// each mistake: `config.pbtxt:3:5: unknown field `max_batch`; did you mean
/// `max_batch_size`?`
Expected<ConfigText> parseConfigText(std::string_view text,
                                     const std::string& file);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_CONFIGTEXT_H
