// The sampling options of a JSON object, under vLLM's names.

#ifndef RECIPERUN_SERVE_PROMPTS_SAMPLINGFIELDS_H
#define RECIPERUN_SERVE_PROMPTS_SAMPLINGFIELDS_H

#include "runtime/base/Status.h"
#include "runtime/serve/sampling/SamplingArguments.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace reciperun::serve {

/// The names that readSamplingFields reads: `temperature`, `top_k`, ...
std::vector<std::string> samplingFieldNames();

/// Overwrites `arguments` with the fields that the object has; a null has no
/// effect. Fails, naming the field, where a value has another type. Ranges are
/// checked by samplingOptionsOf.
Status readSamplingFields(const nlohmann::ordered_json& object,
                          SamplingArguments& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_SAMPLINGFIELDS_H
