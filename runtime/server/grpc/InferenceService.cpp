// See InferenceService.h. Each method names its rule and its function.

#include "runtime/server/grpc/InferenceService.h"

#include "runtime/server/grpc/InferCall.h"
#include "runtime/server/grpc/StreamCall.h"
#include "runtime/server/grpc/UnaryCall.h"
#include "runtime/server/grpc/UnaryMethods.h"
#include "runtime/server/models/ModelServer.h"

namespace reciperun::server {
namespace {

using Host = std::shared_ptr<CallHost>;
using OpenUnary = std::shared_ptr<UnaryCall>;
using Context = InferenceService::Context;
using Reactor = InferenceService::Reactor;

template <class Request, class Response>
using Method = Status (*)(CallHost&, const Request&, Response&);

/// Begins a call whose method answers at once.
template <class Request, class Response>
Reactor* answer(const Host& host, Context* context, const CallRule& rule,
                const Request* request, Response* response,
                Method<Request, Response> method) {
  return UnaryCall::start(host, context, rule, {*request, *response},
                          [=, &host = *host](const OpenUnary& call) {
                            call->end(method(host, *request, *response));
                          });
}

/// Begins a call whose method answers later.
template <class Request, class Response>
Reactor* answerLater(const Host& host, Context* context, const CallRule& rule,
                     const Request* request, const Response* response,
                     void (*method)(CallHost&, const Request&,
                                    std::function<void(Status)>)) {
  return UnaryCall::start(
      host, context, rule, {*request, *response},
      [=, &host = *host](const OpenUnary& call) {
        method(host, *request, [call](Status status) { call->end(status); });
      });
}

/// Begins a call that changes the shared memory of clients.
Reactor* refuseMemory(const Host& host, Context* context, const char* method,
                      const UnaryMessages& messages) {
  return UnaryCall::start(
      host, context, {method, "shared-memory"}, messages,
      [](const OpenUnary& call) { call->end(sharedMemoryDisabled()); });
}

using HealthResponse = grpc::health::v1::HealthCheckResponse;

Status checkHealth(CallHost& host, const grpc::health::v1::HealthCheckRequest&,
                   HealthResponse& response) {
  response.set_status(host.models.isReady() ? HealthResponse::SERVING
                                            : HealthResponse::NOT_SERVING);
  return Status::ok();
}

} // namespace

Reactor*
InferenceService::ServerLive(Context* context,
                             const inference::ServerLiveRequest* request,
                             inference::ServerLiveResponse* response) {
  return answer(host, context, {"ServerLive", "health", /*needsKey=*/false},
                request, response, serverLive);
}

Reactor*
InferenceService::ServerReady(Context* context,
                              const inference::ServerReadyRequest* request,
                              inference::ServerReadyResponse* response) {
  return answer(host, context, {"ServerReady", "health", /*needsKey=*/false},
                request, response, serverReady);
}

Reactor*
InferenceService::ModelReady(Context* context,
                             const inference::ModelReadyRequest* request,
                             inference::ModelReadyResponse* response) {
  return answer(host, context, {"ModelReady", "health"}, request, response,
                modelReady);
}

Reactor* InferenceService::ServerMetadata(
    Context* context, const inference::ServerMetadataRequest* request,
    inference::ServerMetadataResponse* response) {
  return answer(host, context, {"ServerMetadata", "metadata"}, request,
                response, serverMetadata);
}

Reactor*
InferenceService::ModelMetadata(Context* context,
                                const inference::ModelMetadataRequest* request,
                                inference::ModelMetadataResponse* response) {
  return answer(host, context, {"ModelMetadata", "metadata"}, request, response,
                modelMetadata);
}

Reactor*
InferenceService::ModelConfig(Context* context,
                              const inference::ModelConfigRequest* request,
                              inference::ModelConfigResponse* response) {
  return answer(host, context, {"ModelConfig", "model-config"}, request,
                response, modelConfig);
}

Reactor* InferenceService::ModelStatistics(
    Context* context, const inference::ModelStatisticsRequest* request,
    inference::ModelStatisticsResponse* response) {
  return answer(host, context, {"ModelStatistics", "statistics"}, request,
                response, modelStatistics);
}

Reactor*
InferenceService::ModelInfer(Context* context,
                             const inference::ModelInferRequest* request,
                             inference::ModelInferResponse* response) {
  return startModelInfer(host, context, request, response);
}

Reactor* InferenceService::RepositoryIndex(
    Context* context, const inference::RepositoryIndexRequest* request,
    inference::RepositoryIndexResponse* response) {
  return answer(host, context, {"RepositoryIndex", "model-repository"}, request,
                response, repositoryIndex);
}

Reactor* InferenceService::RepositoryModelLoad(
    Context* context, const inference::RepositoryModelLoadRequest* request,
    inference::RepositoryModelLoadResponse* response) {
  return answerLater(host, context, {"RepositoryModelLoad", "model-repository"},
                     request, response, loadModel);
}

Reactor* InferenceService::RepositoryModelUnload(
    Context* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse* response) {
  return answerLater(host, context,
                     {"RepositoryModelUnload", "model-repository"}, request,
                     response, unloadModel);
}

Reactor* InferenceService::SystemSharedMemoryStatus(
    Context* context, const inference::SystemSharedMemoryStatusRequest* request,
    inference::SystemSharedMemoryStatusResponse* response) {
  return answer(host, context, {"SystemSharedMemoryStatus", "shared-memory"},
                request, response, systemMemoryStatus);
}

Reactor* InferenceService::SystemSharedMemoryRegister(
    Context* context,
    const inference::SystemSharedMemoryRegisterRequest* request,
    inference::SystemSharedMemoryRegisterResponse* response) {
  return refuseMemory(host, context, "SystemSharedMemoryRegister",
                      {*request, *response});
}

Reactor* InferenceService::SystemSharedMemoryUnregister(
    Context* context,
    const inference::SystemSharedMemoryUnregisterRequest* request,
    inference::SystemSharedMemoryUnregisterResponse* response) {
  return refuseMemory(host, context, "SystemSharedMemoryUnregister",
                      {*request, *response});
}

Reactor* InferenceService::CudaSharedMemoryStatus(
    Context* context, const inference::CudaSharedMemoryStatusRequest* request,
    inference::CudaSharedMemoryStatusResponse* response) {
  return answer(host, context, {"CudaSharedMemoryStatus", "shared-memory"},
                request, response, cudaMemoryStatus);
}

Reactor* InferenceService::CudaSharedMemoryRegister(
    Context* context, const inference::CudaSharedMemoryRegisterRequest* request,
    inference::CudaSharedMemoryRegisterResponse* response) {
  return refuseMemory(host, context, "CudaSharedMemoryRegister",
                      {*request, *response});
}

Reactor* InferenceService::CudaSharedMemoryUnregister(
    Context* context,
    const inference::CudaSharedMemoryUnregisterRequest* request,
    inference::CudaSharedMemoryUnregisterResponse* response) {
  return refuseMemory(host, context, "CudaSharedMemoryUnregister",
                      {*request, *response});
}

Reactor*
InferenceService::TraceSetting(Context* context,
                               const inference::TraceSettingRequest* request,
                               inference::TraceSettingResponse* response) {
  return answer(host, context, {"TraceSetting", "trace"}, request, response,
                traceSetting);
}

Reactor*
InferenceService::LogSettings(Context* context,
                              const inference::LogSettingsRequest* request,
                              inference::LogSettingsResponse* response) {
  return answer(host, context, {"LogSettings", "logging"}, request, response,
                logSettings);
}

InferenceService::Stream* InferenceService::ModelStreamInfer(Context* context) {
  return StreamCall::start(host, context);
}

grpc::ServerUnaryReactor*
HealthService::Check(grpc::CallbackServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     HealthResponse* response) {
  return answer(
      host, context,
      {"Check", "health", /*needsKey=*/false, "grpc.health.v1.Health"}, request,
      response, checkHealth);
}

} // namespace reciperun::server
