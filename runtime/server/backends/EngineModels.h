// The models of a repository that the server's engine answers.

#ifndef RECIPERUN_SERVER_BACKENDS_ENGINEMODELS_H
#define RECIPERUN_SERVER_BACKENDS_ENGINEMODELS_H

#include "runtime/base/Status.h"
#include "runtime/server/backends/ServedEngine.h"
#include "runtime/server/models/Backend.h"

#include <memory>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

/// Text to text: the inputs and outputs of TensorRT-LLM's `ensemble` and
/// `tensorrt_llm_bls`, of which `text_input` is required. Streams where
/// `stream` is true. Otherwise the answer's text follows the prompt's, unless
/// `excludesInput` or the request's `exclude_input_in_output`.
std::unique_ptr<StreamBackend>
makeTextModel(const inference::ModelConfig& config, const ServedEngine& engine,
              bool excludesInput);

/// Token ids to token ids: TensorRT-LLM's `tensorrt_llm`. Streams if
/// `streaming` is true; each response then has the tokens since the previous
/// one. A request with `stop` ends the requests with the same id.
std::unique_ptr<StreamBackend>
makeTokenModel(const inference::ModelConfig& config, const ServedEngine& engine,
               bool excludesInput);

/// The configuration of the text model that `reciperun serve DIR` offers.
std::shared_ptr<const inference::ModelConfig>
textModelConfig(const std::string& name);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_ENGINEMODELS_H
