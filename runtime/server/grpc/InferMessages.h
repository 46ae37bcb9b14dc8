// Converts between gRPC's messages of inference and the structs of the models.
// Needs no server.

#ifndef RECIPERUN_SERVER_GRPC_INFERMESSAGES_H
#define RECIPERUN_SERVER_GRPC_INFERMESSAGES_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/grpc_service.pb.h"
#include "runtime/server/models/InferRequest.h"

#include <cstdint>
#include <string>

namespace reciperun::server {

using InputMessage = inference::ModelInferRequest::InferInputTensor;

/// A request as a client sends it.
struct ReadRequest {
  InferRequest request;
  /// The first input whose datatype is unknown; empty: none.
  std::string untypedInput;
  /// Whether the client wants a last response that is empty.
  bool wantsEmptyFinal = false;
};

/// Reads a request. Fails, with Triton's texts, for parameters of a wrong type,
/// inputs or outputs that are named twice, and inputs whose data is missing, is
/// given twice or is in another field than that of its datatype.
///
/// Tensors are moved out of `message` where it has raw contents.
Expected<ReadRequest> readRequest(inference::ModelInferRequest&& message);
Expected<ReadRequest> readRequest(const inference::ModelInferRequest& message);

/// -1 for an empty text.
Expected<int64_t> readVersion(const std::string& text);

/// Fails if an input's datatype is unknown, with the message for a wrong
/// datatype.
Status checkTypes(const ReadRequest& read, const inference::ModelConfig& model);

/// Writes a response that has not failed. Fails where gRPC cannot send it,
/// because of its size.
Status writeResponse(InferResponse response,
                     inference::ModelInferResponse& message);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_INFERMESSAGES_H
