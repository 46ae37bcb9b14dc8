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

constexpr CallRule openHealth = {"health", /*needsKey=*/false};
constexpr CallRule modelHealth = {"health"};
constexpr CallRule metadataRule = {"metadata"};
constexpr CallRule configRule = {"model-config"};
constexpr CallRule statisticsRule = {"statistics"};
constexpr CallRule repositoryRule = {"model-repository"};
constexpr CallRule memoryRule = {"shared-memory"};
constexpr CallRule traceRule = {"trace"};
constexpr CallRule logRule = {"logging"};

template <class Request, class Response>
using Method = Status (*)(CallHost&, const Request&, Response&);

/// Begins a call whose method answers at once.
template <class Request, class Response>
Reactor* answer(const Host& host, Context* context, const CallRule& rule,
                const Request* request, Response* response,
                Method<Request, Response> method) {
  return UnaryCall::start(host, context, rule,
                          [=, &host = *host](const OpenUnary& call) {
                            call->end(method(host, *request, *response));
                          });
}

/// Begins a call whose method answers later.
template <class Request>
Reactor* answerLater(const Host& host, Context* context, const CallRule& rule,
                     const Request* request,
                     void (*method)(CallHost&, const Request&,
                                    std::function<void(Status)>)) {
  return UnaryCall::start(
      host, context, rule, [=, &host = *host](const OpenUnary& call) {
        method(host, *request, [call](Status status) { call->end(status); });
      });
}

/// Begins a call that changes the shared memory of clients.
Reactor* refuseMemory(const Host& host, Context* context) {
  return UnaryCall::start(host, context, memoryRule, [](const OpenUnary& call) {
    call->end(sharedMemoryDisabled());
  });
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
  return answer(host, context, openHealth, request, response, serverLive);
}

Reactor*
InferenceService::ServerReady(Context* context,
                              const inference::ServerReadyRequest* request,
                              inference::ServerReadyResponse* response) {
  return answer(host, context, openHealth, request, response, serverReady);
}

Reactor*
InferenceService::ModelReady(Context* context,
                             const inference::ModelReadyRequest* request,
                             inference::ModelReadyResponse* response) {
  return answer(host, context, modelHealth, request, response, modelReady);
}

Reactor* InferenceService::ServerMetadata(
    Context* context, const inference::ServerMetadataRequest* request,
    inference::ServerMetadataResponse* response) {
  return answer(host, context, metadataRule, request, response, serverMetadata);
}

Reactor*
InferenceService::ModelMetadata(Context* context,
                                const inference::ModelMetadataRequest* request,
                                inference::ModelMetadataResponse* response) {
  return answer(host, context, metadataRule, request, response, modelMetadata);
}

Reactor*
InferenceService::ModelConfig(Context* context,
                              const inference::ModelConfigRequest* request,
                              inference::ModelConfigResponse* response) {
  return answer(host, context, configRule, request, response, modelConfig);
}

Reactor* InferenceService::ModelStatistics(
    Context* context, const inference::ModelStatisticsRequest* request,
    inference::ModelStatisticsResponse* response) {
  return answer(host, context, statisticsRule, request, response,
                modelStatistics);
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
  return answer(host, context, repositoryRule, request, response,
                repositoryIndex);
}

Reactor* InferenceService::RepositoryModelLoad(
    Context* context, const inference::RepositoryModelLoadRequest* request,
    inference::RepositoryModelLoadResponse*) {
  return answerLater(host, context, repositoryRule, request, loadModel);
}

Reactor* InferenceService::RepositoryModelUnload(
    Context* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse*) {
  return answerLater(host, context, repositoryRule, request, unloadModel);
}

Reactor* InferenceService::SystemSharedMemoryStatus(
    Context* context, const inference::SystemSharedMemoryStatusRequest* request,
    inference::SystemSharedMemoryStatusResponse* response) {
  return answer(host, context, memoryRule, request, response,
                systemMemoryStatus);
}

Reactor* InferenceService::SystemSharedMemoryRegister(
    Context* context, const inference::SystemSharedMemoryRegisterRequest*,
    inference::SystemSharedMemoryRegisterResponse*) {
  return refuseMemory(host, context);
}

Reactor* InferenceService::SystemSharedMemoryUnregister(
    Context* context, const inference::SystemSharedMemoryUnregisterRequest*,
    inference::SystemSharedMemoryUnregisterResponse*) {
  return refuseMemory(host, context);
}

Reactor* InferenceService::CudaSharedMemoryStatus(
    Context* context, const inference::CudaSharedMemoryStatusRequest* request,
    inference::CudaSharedMemoryStatusResponse* response) {
  return answer(host, context, memoryRule, request, response, cudaMemoryStatus);
}

Reactor* InferenceService::CudaSharedMemoryRegister(
    Context* context, const inference::CudaSharedMemoryRegisterRequest*,
    inference::CudaSharedMemoryRegisterResponse*) {
  return refuseMemory(host, context);
}

Reactor* InferenceService::CudaSharedMemoryUnregister(
    Context* context, const inference::CudaSharedMemoryUnregisterRequest*,
    inference::CudaSharedMemoryUnregisterResponse*) {
  return refuseMemory(host, context);
}

Reactor*
InferenceService::TraceSetting(Context* context,
                               const inference::TraceSettingRequest* request,
                               inference::TraceSettingResponse* response) {
  return answer(host, context, traceRule, request, response, traceSetting);
}

Reactor*
InferenceService::LogSettings(Context* context,
                              const inference::LogSettingsRequest* request,
                              inference::LogSettingsResponse* response) {
  return answer(host, context, logRule, request, response, logSettings);
}

InferenceService::Stream* InferenceService::ModelStreamInfer(Context* context) {
  return StreamCall::start(host, context);
}

grpc::ServerUnaryReactor*
HealthService::Check(grpc::CallbackServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     HealthResponse* response) {
  return answer(host, context, openHealth, request, response, checkHealth);
}

} // namespace reciperun::server
