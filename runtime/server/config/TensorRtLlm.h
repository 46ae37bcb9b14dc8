// The parameters of TensorRT-LLM's backend in a configuration.

#ifndef RECIPERUN_SERVER_CONFIG_TENSORRTLLM_H
#define RECIPERUN_SERVER_CONFIG_TENSORRTLLM_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

/// Does nothing for a configuration of another backend. Replaces values that
/// other documents give to a wrong parameter, with a warning; warns of
/// parameters that TensorRT-LLM does not have, and of those that have no
/// meaning here. Fails for a value that its parameter does not take.
Status adaptTensorRtLlm(inference::ModelConfig& config,
                        std::vector<std::string>& warnings);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_TENSORRTLLM_H
