// Calls about the server and its models; see UnaryMethods.h.

#include "runtime/server/grpc/InferMessages.h"
#include "runtime/server/grpc/UnaryMethods.h"
#include "runtime/server/models/ModelServer.h"

#include <string>
#include <vector>

namespace reciperun::server {
namespace {

void writeTensor(const TensorMetadata& tensor,
                 inference::ModelMetadataResponse::TensorMetadata& target) {
  target.set_name(tensor.name);
  target.set_datatype(nameOf(tensor.type));
  target.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
}

void writeDuration(const DurationCount& duration,
                   inference::StatisticDuration& target) {
  target.set_count(duration.count);
  target.set_ns(duration.nanoseconds);
}

void writeTotals(const ModelStatistics& model,
                 inference::InferStatistics& target) {
  writeDuration(model.success, *target.mutable_success());
  writeDuration(model.fail, *target.mutable_fail());
  writeDuration(model.queue, *target.mutable_queue());
  writeDuration(model.computeInput, *target.mutable_compute_input());
  writeDuration(model.computeInfer, *target.mutable_compute_infer());
  writeDuration(model.computeOutput, *target.mutable_compute_output());
  writeDuration(model.cacheHit, *target.mutable_cache_hit());
  writeDuration(model.cacheMiss, *target.mutable_cache_miss());
}

void writeResponseCounts(const ModelStatistics::Response& response,
                         inference::InferResponseStatistics& target) {
  writeDuration(response.computeInfer, *target.mutable_compute_infer());
  writeDuration(response.computeOutput, *target.mutable_compute_output());
  writeDuration(response.success, *target.mutable_success());
  writeDuration(response.fail, *target.mutable_fail());
  writeDuration(response.emptyResponse, *target.mutable_empty_response());
  writeDuration(response.cancel, *target.mutable_cancel());
}

void writeStatistics(const ModelStatistics& model,
                     inference::ModelStatistics& target) {
  target.set_name(model.name);
  target.set_version(model.version);
  target.set_last_inference(model.lastInference);
  target.set_inference_count(model.inferenceCount);
  target.set_execution_count(model.executionCount);
  writeTotals(model, *target.mutable_inference_stats());
  for (const auto& [size, batch] : model.batches) {
    auto& row = *target.add_batch_stats();
    row.set_batch_size(size);
    writeDuration(batch.computeInput, *row.mutable_compute_input());
    writeDuration(batch.computeInfer, *row.mutable_compute_infer());
    writeDuration(batch.computeOutput, *row.mutable_compute_output());
  }
  for (const auto& [index, response] : model.responses)
    writeResponseCounts(
        response, (*target.mutable_response_stats())[std::to_string(index)]);
}

} // namespace

Status serverLive(CallHost& host, const inference::ServerLiveRequest&,
                  inference::ServerLiveResponse& answer) {
  answer.set_live(host.models.isLive());
  return Status::ok();
}

Status serverReady(CallHost& host, const inference::ServerReadyRequest&,
                   inference::ServerReadyResponse& answer) {
  answer.set_ready(host.models.isReady());
  return Status::ok();
}

Status serverMetadata(CallHost& host, const inference::ServerMetadataRequest&,
                      inference::ServerMetadataResponse& answer) {
  answer.set_name(host.settings.serverName);
  answer.set_version(host.settings.serverVersion);
  for (const char* extension :
       {"classification", "sequence", "model_repository",
        "model_repository(unload_dependents)", "schedule_policy",
        "model_configuration", "system_shared_memory", "cuda_shared_memory",
        "binary_tensor_data", "parameters", "statistics", "trace", "logging"})
    answer.add_extensions(extension);
  return Status::ok();
}

Status modelReady(CallHost& host, const inference::ModelReadyRequest& request,
                  inference::ModelReadyResponse& answer) {
  const auto version = readVersion(request.version());
  RECIPERUN_TRY(version);
  const auto isReady = host.models.isModelReady(request.name(), *version);
  RECIPERUN_TRY(isReady);
  answer.set_ready(*isReady);
  return Status::ok();
}

Status modelMetadata(CallHost& host,
                     const inference::ModelMetadataRequest& request,
                     inference::ModelMetadataResponse& answer) {
  const auto version = readVersion(request.version());
  RECIPERUN_TRY(version);
  const auto model = host.models.metadata(request.name(), *version);
  RECIPERUN_TRY(model);
  answer.set_name(model->name);
  answer.set_platform(model->platform);
  for (const std::string& each : model->versions)
    answer.add_versions(each);
  for (const TensorMetadata& each : model->inputs)
    writeTensor(each, *answer.add_inputs());
  for (const TensorMetadata& each : model->outputs)
    writeTensor(each, *answer.add_outputs());
  return Status::ok();
}

Status modelConfig(CallHost& host, const inference::ModelConfigRequest& request,
                   inference::ModelConfigResponse& answer) {
  const auto version = readVersion(request.version());
  RECIPERUN_TRY(version);
  const auto config = host.models.config(request.name(), *version);
  RECIPERUN_TRY(config);
  *answer.mutable_config() = **config;
  return Status::ok();
}

Status modelStatistics(CallHost& host,
                       const inference::ModelStatisticsRequest& request,
                       inference::ModelStatisticsResponse& answer) {
  const auto version = readVersion(request.version());
  RECIPERUN_TRY(version);
  const auto models = host.models.statistics(request.name(), *version);
  RECIPERUN_TRY(models);
  for (const ModelStatistics& each : *models)
    writeStatistics(each, *answer.add_model_stats());
  return Status::ok();
}

} // namespace reciperun::server
