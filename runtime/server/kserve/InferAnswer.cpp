// See InferAnswer.h.

#include "runtime/server/kserve/InferAnswer.h"

#include "runtime/server/kserve/TensorJson.h"

namespace reciperun::server {
namespace {

void writeParameters(JsonWriter& writer, const Parameters& parameters) {
  writeKey(writer, "parameters");
  writer.StartObject();
  for (const auto& [name, value] : parameters) {
    writeKey(writer, name);
    writeParameter(writer, value);
  }
  writer.EndObject();
}

void writeBytesSize(JsonWriter& writer, size_t bytes) {
  writeKey(writer, "parameters");
  writer.StartObject();
  writeKey(writer, "binary_data_size");
  writer.Uint64(bytes);
  writer.EndObject();
}

Status writeOutput(JsonWriter& writer, const Tensor& output, bool isBinary) {
  writer.StartObject();
  writeMember(writer, "name", output.name);
  writeMember(writer, "datatype", nameOf(output.type));
  writeKey(writer, "shape");
  writer.StartArray();
  for (const int64_t size : output.shape)
    writer.Int64(size);
  writer.EndArray();
  if (isBinary)
    writeBytesSize(writer, output.data.size());
  else {
    writeKey(writer, "data");
    RECIPERUN_TRY(writeElements(writer, output));
  }
  writer.EndObject();
  return Status::ok();
}

} // namespace

Expected<InferAnswer> inferAnswerOf(const InferResponse& response,
                                    const InferCall& call) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  if (!response.id.empty())
    writeMember(writer, "id", response.id);
  writeMember(writer, "model_name", response.model);
  writeMember(writer, "model_version", response.version);
  if (!response.parameters.empty())
    writeParameters(writer, response.parameters);
  writeKey(writer, "outputs");
  writer.StartArray();
  std::string bytes;
  for (const Tensor& each : response.outputs) {
    const bool isBinary = call.sendsBinary(each.name);
    RECIPERUN_TRY(writeOutput(writer, each, isBinary));
    if (isBinary)
      bytes += each.data;
  }
  writer.EndArray();
  writer.EndObject();
  InferAnswer answer = {{buffer.GetString(), buffer.GetSize()}, 0};
  answer.jsonBytes = answer.body.size();
  answer.body += bytes;
  return answer;
}

} // namespace reciperun::server
