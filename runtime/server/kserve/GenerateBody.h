// Bodies of the generate extension: flat JSON objects, whose members are a
// model's tensors and parameters.

#ifndef RECIPERUN_SERVER_KSERVE_GENERATEBODY_H
#define RECIPERUN_SERVER_KSERVE_GENERATEBODY_H

#include "runtime/server/models/ModelServer.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace reciperun::server {

/// Reads the body of a request to `model`. A member, also one of the object
/// `parameters`, is the input of its name, or a parameter of the request where
/// the model has no such input; `id` is the request's id. The values, a scalar
/// or a list, get the shape of the model's input: the last variable dimension
/// takes what the fixed ones leave, the other variable ones are 1.
///
/// The body and all inputs together may have `mostBytes` each.
Expected<InferRequest> readGenerateBody(const ModelMetadata& model,
                                        std::string_view body,
                                        size_t mostBytes);

/// A response that did not fail as a flat JSON object, with its members in the
/// order of their names. A tensor of one element is a scalar.
Expected<std::string> generateAnswerOf(const InferResponse& response);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_GENERATEBODY_H
