// See ModelJson.h.

#include "runtime/server/kserve/ModelJson.h"

#include "runtime/server/kserve/AnswerJson.h"

namespace reciperun::server {
namespace {

constexpr const char* extensions[] = {"classification",
                                      "sequence",
                                      "model_repository",
                                      "model_repository(unload_dependents)",
                                      "schedule_policy",
                                      "model_configuration",
                                      "system_shared_memory",
                                      "cuda_shared_memory",
                                      "binary_tensor_data",
                                      "parameters",
                                      "statistics",
                                      "trace",
                                      "logging"};

void writeTensors(JsonWriter& writer, const char* name,
                  std::span<const TensorMetadata> tensors) {
  writeKey(writer, name);
  writer.StartArray();
  for (const TensorMetadata& each : tensors) {
    writer.StartObject();
    writeMember(writer, "name", each.name);
    writeMember(writer, "datatype", nameOf(each.type));
    writeKey(writer, "shape");
    writer.StartArray();
    for (const int64_t size : each.shape)
      writer.Int64(size);
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndArray();
}

void writeCount(JsonWriter& writer, const char* name, uint64_t count) {
  writeKey(writer, name);
  writer.Uint64(count);
}

void writeDuration(JsonWriter& writer, const char* name,
                   const DurationCount& duration) {
  writeKey(writer, name);
  writer.StartObject();
  writeCount(writer, "count", duration.count);
  writeCount(writer, "ns", duration.nanoseconds);
  writer.EndObject();
}

void writeInferences(JsonWriter& writer, const ModelStatistics& model) {
  writeKey(writer, "inference_stats");
  writer.StartObject();
  writeDuration(writer, "success", model.success);
  writeDuration(writer, "fail", model.fail);
  writeDuration(writer, "queue", model.queue);
  writeDuration(writer, "compute_input", model.computeInput);
  writeDuration(writer, "compute_infer", model.computeInfer);
  writeDuration(writer, "compute_output", model.computeOutput);
  writeDuration(writer, "cache_hit", model.cacheHit);
  writeDuration(writer, "cache_miss", model.cacheMiss);
  writer.EndObject();
}

void writeResponses(JsonWriter& writer, const ModelStatistics& model) {
  writeKey(writer, "response_stats");
  writer.StartObject();
  for (const auto& [index, each] : model.responses) {
    writeKey(writer, std::to_string(index));
    writer.StartObject();
    writeDuration(writer, "compute_infer", each.computeInfer);
    writeDuration(writer, "compute_output", each.computeOutput);
    writeDuration(writer, "success", each.success);
    writeDuration(writer, "fail", each.fail);
    writeDuration(writer, "empty_response", each.emptyResponse);
    writeDuration(writer, "cancel", each.cancel);
    writer.EndObject();
  }
  writer.EndObject();
}

void writeBatches(JsonWriter& writer, const ModelStatistics& model) {
  writeKey(writer, "batch_stats");
  writer.StartArray();
  for (const auto& [size, each] : model.batches) {
    writer.StartObject();
    writeCount(writer, "batch_size", size);
    writeDuration(writer, "compute_input", each.computeInput);
    writeDuration(writer, "compute_infer", each.computeInfer);
    writeDuration(writer, "compute_output", each.computeOutput);
    writer.EndObject();
  }
  writer.EndArray();
}

void writeStatistics(JsonWriter& writer, const ModelStatistics& model) {
  writer.StartObject();
  writeMember(writer, "name", model.name);
  writeMember(writer, "version", model.version);
  writeCount(writer, "last_inference", model.lastInference);
  writeCount(writer, "inference_count", model.inferenceCount);
  writeCount(writer, "execution_count", model.executionCount);
  writeInferences(writer, model);
  writeResponses(writer, model);
  writeBatches(writer, model);
  writeKey(writer, "memory_usage"); // models do not report it
  writer.StartArray();
  writer.EndArray();
  writer.EndObject();
}

} // namespace

std::string serverMetadataJson(const std::string& name,
                               const std::string& version) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeMember(writer, "name", name);
  writeMember(writer, "version", version);
  writeKey(writer, "extensions");
  writer.StartArray();
  for (const char* each : extensions)
    writeString(writer, each);
  writer.EndArray();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

std::string metadataJson(const ModelMetadata& model) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeMember(writer, "name", model.name);
  writeKey(writer, "versions");
  writer.StartArray();
  for (const std::string& each : model.versions)
    writeString(writer, each);
  writer.EndArray();
  writeMember(writer, "platform", model.platform);
  writeTensors(writer, "inputs", model.inputs);
  writeTensors(writer, "outputs", model.outputs);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

std::string statisticsJson(std::span<const ModelStatistics> models) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeKey(writer, "model_stats");
  writer.StartArray();
  for (const ModelStatistics& each : models)
    writeStatistics(writer, each);
  writer.EndArray();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace reciperun::server
