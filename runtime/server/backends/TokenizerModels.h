// `preprocessing` and `postprocessing` of TensorRT-LLM's model repository,
// which encode prompts and decode answers.

#ifndef RECIPERUN_SERVER_BACKENDS_TOKENIZERMODELS_H
#define RECIPERUN_SERVER_BACKENDS_TOKENIZERMODELS_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/server/models/Backend.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

/// The outputs that a configuration declares.
std::set<std::string> outputNames(const inference::ModelConfig& config);

struct PreprocessingSettings {
  bool addsSpecialTokens = true;
  int32_t endId = -1; // of the model; -1: none
};

/// QUERY [b, 1] to INPUT_ID [b, n], padded, and its lengths; words to lists of
/// their tokens, [b, 2, n]. A backend has a tokenizer of its own: the tokenizer
/// keeps what it has encoded.
std::unique_ptr<BatchBackend>
makePreprocessing(const inference::ModelConfig& config,
                  data::Tokenizer tokenizer,
                  const PreprocessingSettings& settings);

/// TOKENS_BATCH [b, beams, n] and SEQUENCE_LENGTH [b, beams] to OUTPUT
/// [b, beams].
std::unique_ptr<BatchBackend> makePostprocessing(data::Tokenizer tokenizer,
                                                 bool skipsSpecialTokens);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_TOKENIZERMODELS_H
