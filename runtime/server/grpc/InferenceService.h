// The services that gRPC calls: each method begins a call and returns at once.

#ifndef RECIPERUN_SERVER_GRPC_INFERENCESERVICE_H
#define RECIPERUN_SERVER_GRPC_INFERENCESERVICE_H

#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/grpc/grpc_service.grpc.pb.h"
#include "runtime/server/grpc/health.grpc.pb.h"

#include <memory>
#include <utility>

namespace reciperun::server {

class InferenceService final
    : public inference::GRPCInferenceService::CallbackService {
public:
  explicit InferenceService(std::shared_ptr<CallHost> host)
      : host(std::move(host)) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Stream = grpc::ServerBidiReactor<inference::ModelInferRequest,
                                         inference::ModelStreamInferResponse>;

  Reactor* ServerLive(Context* context,
                      const inference::ServerLiveRequest* request,
                      inference::ServerLiveResponse* response) override;
  Reactor* ServerReady(Context* context,
                       const inference::ServerReadyRequest* request,
                       inference::ServerReadyResponse* response) override;
  Reactor* ModelReady(Context* context,
                      const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* response) override;
  Reactor* ServerMetadata(Context* context,
                          const inference::ServerMetadataRequest* request,
                          inference::ServerMetadataResponse* response) override;
  Reactor* ModelMetadata(Context* context,
                         const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* response) override;
  Reactor* ModelConfig(Context* context,
                       const inference::ModelConfigRequest* request,
                       inference::ModelConfigResponse* response) override;
  Reactor*
  ModelStatistics(Context* context,
                  const inference::ModelStatisticsRequest* request,
                  inference::ModelStatisticsResponse* response) override;
  Reactor* ModelInfer(Context* context,
                      const inference::ModelInferRequest* request,
                      inference::ModelInferResponse* response) override;
  Reactor*
  RepositoryIndex(Context* context,
                  const inference::RepositoryIndexRequest* request,
                  inference::RepositoryIndexResponse* response) override;
  Reactor* RepositoryModelLoad(
      Context* context, const inference::RepositoryModelLoadRequest* request,
      inference::RepositoryModelLoadResponse* response) override;
  Reactor* RepositoryModelUnload(
      Context* context, const inference::RepositoryModelUnloadRequest* request,
      inference::RepositoryModelUnloadResponse* response) override;
  Reactor* SystemSharedMemoryStatus(
      Context* context,
      const inference::SystemSharedMemoryStatusRequest* request,
      inference::SystemSharedMemoryStatusResponse* response) override;
  Reactor* SystemSharedMemoryRegister(
      Context* context,
      const inference::SystemSharedMemoryRegisterRequest* request,
      inference::SystemSharedMemoryRegisterResponse* response) override;
  Reactor* SystemSharedMemoryUnregister(
      Context* context,
      const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse* response) override;
  Reactor* CudaSharedMemoryStatus(
      Context* context, const inference::CudaSharedMemoryStatusRequest* request,
      inference::CudaSharedMemoryStatusResponse* response) override;
  Reactor* CudaSharedMemoryRegister(
      Context* context,
      const inference::CudaSharedMemoryRegisterRequest* request,
      inference::CudaSharedMemoryRegisterResponse* response) override;
  Reactor* CudaSharedMemoryUnregister(
      Context* context,
      const inference::CudaSharedMemoryUnregisterRequest* request,
      inference::CudaSharedMemoryUnregisterResponse* response) override;
  Reactor* TraceSetting(Context* context,
                        const inference::TraceSettingRequest* request,
                        inference::TraceSettingResponse* response) override;
  Reactor* LogSettings(Context* context,
                       const inference::LogSettingsRequest* request,
                       inference::LogSettingsResponse* response) override;
  Stream* ModelStreamInfer(Context* context) override;

private:
  const std::shared_ptr<CallHost> host;
};

/// gRPC's health service, which reports whether the server is ready. It ignores
/// the name of the service, as Triton does.
class HealthService final : public grpc::health::v1::Health::CallbackService {
public:
  explicit HealthService(std::shared_ptr<CallHost> host)
      : host(std::move(host)) {}

  grpc::ServerUnaryReactor*
  Check(grpc::CallbackServerContext* context,
        const grpc::health::v1::HealthCheckRequest* request,
        grpc::health::v1::HealthCheckResponse* response) override;

private:
  const std::shared_ptr<CallHost> host;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_INFERENCESERVICE_H
