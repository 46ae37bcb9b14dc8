// The parameters of a request for inference.

#ifndef RECIPERUN_SERVER_GRPC_REQUESTPARAMETERS_H
#define RECIPERUN_SERVER_GRPC_REQUESTPARAMETERS_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/InferMessages.h"

namespace reciperun::server {

/// Reads the parameters of the whole request.
Status readParameters(const inference::ModelInferRequest& message,
                      ReadRequest& target);

/// Reads those of a requested output.
Expected<RequestedOutput> readOutput(
    const inference::ModelInferRequest::InferRequestedOutputTensor& message);

/// Fails where a tensor is to be in a client's shared memory, which this server
/// does not have.
Status refuseSharedMemory(
    const std::string& tensor,
    const google::protobuf::Map<std::string, inference::InferParameter>&
        parameters);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_REQUESTPARAMETERS_H
