// Variables of a template that were not filled in, `${name}`, as the files of
// TensorRT-LLM's model repository have them before tools/fill_template.py. They
// count as unset.

#ifndef RECIPERUN_SERVER_CONFIG_TEMPLATEVARIABLES_H
#define RECIPERUN_SERVER_CONFIG_TEMPLATEVARIABLES_H

#include <string>
#include <string_view>
#include <vector>

namespace inference {
class ModelConfig; // model_config.proto
} // namespace inference

namespace reciperun::server {

struct WithoutVariables {
  std::string text;               // lines and columns stay, but for types
  std::vector<std::string> names; // of the variables that were left out
};

/// Replaces the fields and list elements whose value is a variable by spaces. A
/// data type becomes the one that TensorRT-LLM recommends: TYPE_FP16 for
/// embeddings and features, else TYPE_FP32. Variables in quotes and comments
/// stay.
WithoutVariables withoutVariables(std::string_view text);

/// Clears the texts that contain a variable, and removes the parameters whose
/// value does. Returns the names of the variables.
std::vector<std::string> clearVariables(inference::ModelConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_TEMPLATEVARIABLES_H
