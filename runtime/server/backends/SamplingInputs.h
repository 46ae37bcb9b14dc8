// The sampling options of a request under TensorRT-LLM's names.

#ifndef RECIPERUN_SERVER_BACKENDS_SAMPLINGINPUTS_H
#define RECIPERUN_SERVER_BACKENDS_SAMPLINGINPUTS_H

#include "runtime/base/Status.h"
#include "runtime/serve/sampling/SamplingArguments.h"
#include "runtime/server/backends/RequestFields.h"

namespace reciperun::server {

/// The names of TensorRT-LLM's text models (`max_tokens`, `top_k`) differ from
/// those of its model of tokens (`request_output_len`, `runtime_top_k`).
enum class InputNames { text, tokens };

/// Reads the options that say how tokens are drawn and how many. Fails for
/// values of a wrong type, and for beams and several answers.
Expected<serve::SamplingArguments> readSampling(InputNames names,
                                                RequestFields& fields);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_SAMPLINGINPUTS_H
