// The body of an infer request: JSON, which binary tensors may follow, or the
// bytes of a single tensor.

#ifndef RECIPERUN_SERVER_KSERVE_INFERBODY_H
#define RECIPERUN_SERVER_KSERVE_INFERBODY_H

#include "runtime/server/kserve/RequestJson.h"
#include "runtime/server/models/ModelServer.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::server {

/// A request, and how its outputs are to be sent.
struct InferCall {
  InferRequest request;
  /// For each output that the request lists: whether it is sent as bytes.
  std::map<std::string, bool, std::less<>> isBinary;
  bool sendsOthersBinary = false; // outputs that are not listed

  bool sendsBinary(std::string_view output) const {
    const auto found = isBinary.find(output);
    return found == isBinary.end() ? sendsOthersBinary : found->second;
  }
};

/// Reads the body of a request to `model`. `jsonBytes` is the value of the
/// header `Inference-Header-Content-Length`, which must not exceed the body; 0:
/// the body is a single tensor without JSON. Neither the JSON nor a tensor in
/// JSON, nor a single tensor, may have more than `mostBytes`.
///
/// Checks what needs no more than the body. ModelServer::infer checks the
/// inputs against the model.
Expected<InferCall> readInferBody(const ModelMetadata& model,
                                  std::string_view body,
                                  std::optional<size_t> jsonBytes,
                                  size_t mostBytes);

/// Adds a parameter that has no meaning in the protocol to `parameters`.
Status addParameter(const std::string& name, const JsonValue& value,
                    Parameters& parameters);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_INFERBODY_H
