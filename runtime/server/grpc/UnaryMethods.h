// What the calls with one request and one answer do, on the server's thread.

#ifndef RECIPERUN_SERVER_GRPC_UNARYMETHODS_H
#define RECIPERUN_SERVER_GRPC_UNARYMETHODS_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/grpc/grpc_service.pb.h"

#include <functional>

namespace reciperun::server {

// ---- the server

Status serverLive(CallHost& host, const inference::ServerLiveRequest& request,
                  inference::ServerLiveResponse& answer);
Status serverReady(CallHost& host, const inference::ServerReadyRequest& request,
                   inference::ServerReadyResponse& answer);
Status serverMetadata(CallHost& host,
                      const inference::ServerMetadataRequest& request,
                      inference::ServerMetadataResponse& answer);

// ---- models

Status modelReady(CallHost& host, const inference::ModelReadyRequest& request,
                  inference::ModelReadyResponse& answer);
Status modelMetadata(CallHost& host,
                     const inference::ModelMetadataRequest& request,
                     inference::ModelMetadataResponse& answer);
Status modelConfig(CallHost& host, const inference::ModelConfigRequest& request,
                   inference::ModelConfigResponse& answer);
Status modelStatistics(CallHost& host,
                       const inference::ModelStatisticsRequest& request,
                       inference::ModelStatisticsResponse& answer);

// ---- the repository

Status repositoryIndex(CallHost& host,
                       const inference::RepositoryIndexRequest& request,
                       inference::RepositoryIndexResponse& answer);
/// `then` runs when the model is loaded.
void loadModel(CallHost& host,
               const inference::RepositoryModelLoadRequest& request,
               std::function<void(Status)> then);
/// `then` runs when the model is out of service.
void unloadModel(CallHost& host,
                 const inference::RepositoryModelUnloadRequest& request,
                 std::function<void(Status)> then);

// ---- settings

Status traceSetting(CallHost& host,
                    const inference::TraceSettingRequest& request,
                    inference::TraceSettingResponse& answer);
Status logSettings(CallHost& host, const inference::LogSettingsRequest& request,
                   inference::LogSettingsResponse& answer);

// ---- shared memory of clients, which is disabled

Status
systemMemoryStatus(CallHost& host,
                   const inference::SystemSharedMemoryStatusRequest& request,
                   inference::SystemSharedMemoryStatusResponse& answer);
Status cudaMemoryStatus(CallHost& host,
                        const inference::CudaSharedMemoryStatusRequest& request,
                        inference::CudaSharedMemoryStatusResponse& answer);
/// Why regions can be neither registered nor unregistered.
Status sharedMemoryDisabled();

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_UNARYMETHODS_H
