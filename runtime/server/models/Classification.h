// KServe's classification extension: the likeliest classes of an output.

#ifndef RECIPERUN_SERVER_MODELS_CLASSIFICATION_H
#define RECIPERUN_SERVER_MODELS_CLASSIFICATION_H

#include "runtime/server/models/InferRequest.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace reciperun::server {

/// The `classes` greatest elements of `output`, or of each of its batch's
/// elements where `isBatched`, as a tensor of BYTES: `<value>:<index>`, and
/// `:<label>` for an index that `labels` has. Its shape is [classes], or
/// [batch, classes]. Of equal elements the one with the lower index comes
/// first.
///
/// Fails for BOOL, BYTES, FP16 and BF16, for more than a million elements, and
/// where the data does not have the elements of the shape.
Expected<Tensor> classify(const Tensor& output, int64_t classes, bool isBatched,
                          std::span<const std::string> labels);

/// The labels of classes, by the outputs that have any.
using ClassLabels = std::map<std::string, std::vector<std::string>>;

/// Whether a request wants classes of an output.
bool wantsClasses(std::span<const RequestedOutput> wanted);

/// Replaces the outputs for which classes are wanted by their classes. If that
/// fails, the response becomes a failure.
void classifyOutputs(std::span<const RequestedOutput> wanted, bool isBatched,
                     const ClassLabels& labels, InferResponse& response);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_CLASSIFICATION_H
