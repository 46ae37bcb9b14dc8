// The call ModelInfer: one request, one response.

#ifndef RECIPERUN_SERVER_GRPC_INFERCALL_H
#define RECIPERUN_SERVER_GRPC_INFERCALL_H

#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/grpc/grpc_service.pb.h"
#include "runtime/server/models/ModelServer.h"

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

namespace reciperun::server {

/// Begins the call. The messages are gRPC's.
grpc::ServerUnaryReactor*
startModelInfer(const std::shared_ptr<CallHost>& host,
                grpc::CallbackServerContext* context,
                const inference::ModelInferRequest* request,
                inference::ModelInferResponse* response);

/// The configuration of the model that a request is for. Fails while the server
/// stops, too.
Expected<std::shared_ptr<const inference::ModelConfig>>
configFor(const CallHost& host, const std::string& model,
          const std::string& version);

/// Responses of the call are compressed as the settings say.
void setCompression(const GrpcSettings& settings,
                    grpc::CallbackServerContext& context);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_INFERCALL_H
