// Whether a request fits a model's configuration.

#ifndef RECIPERUN_SERVER_MODELS_REQUESTCHECK_H
#define RECIPERUN_SERVER_MODELS_REQUESTCHECK_H

#include "runtime/base/Status.h"
#include "runtime/server/models/InferRequest.h"

#include <cstdint>
#include <optional>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

/// The elements of a request as a part of a batch: 1 where the model has no
/// batch dimension. Fails, with Triton's texts, where inputs are missing or
/// unknown, where a type, shape or size is not the model's, where the batch is
/// too large, and where an output is unknown.
Expected<int64_t> checkRequest(const inference::ModelConfig& config,
                               const InferRequest& request);

/// A failure with the request's id before it, as Triton's messages have it.
Status withRequestId(const Status& failure, const InferRequest& request);

/// The type of a tensor in a configuration. Nothing for TYPE_INVALID.
std::optional<DataType> dataTypeOf(int configType);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_REQUESTCHECK_H
