// libFuzzer target: bodies of KServe's protocol over HTTP.
//
// The first byte selects the kind of body: infer with JSON alone, infer with
// binary tensors (the next two bytes are the length of the JSON), generate, or
// another route's. A refusal has a reason. The data of an accepted tensor fits
// its shape, and the answer with the accepted inputs is JSON that reads back as
// the same elements.

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/Compression.h"
#include "runtime/server/kserve/GenerateBody.h"
#include "runtime/server/kserve/InferAnswer.h"
#include "runtime/server/kserve/RepositoryJson.h"
#include "runtime/server/kserve/SettingsJson.h"
#include "runtime/server/kserve/TensorJson.h"
#include "test/fuzz/Require.h"

using namespace reciperun;
using namespace reciperun::server;
using recipec::fuzz::require;

namespace {

constexpr size_t mostBytes = 1 << 16;

const ModelMetadata& twoInputs() {
  static const ModelMetadata model = {"m",
                                      {"1"},
                                      "fuzz",
                                      {{"A", DataType::int32, {-1, 2}},
                                       {"B", DataType::bytes, {-1, -1}},
                                       {"C", DataType::fp64, {3}}},
                                      {},
                                      /*isBatched=*/true};
  return model;
}

const ModelMetadata& oneInput() {
  static const ModelMetadata model = {
      "m", {"1"}, "fuzz", {{"A", DataType::fp32, {-1, 2, -1}}}, {}, true};
  return model;
}

void requireReason(const Status& status) {
  require(status.isOk() || !status.message().empty(), "a refusal has a reason");
}

bool isInteger(DataType type) {
  return type != DataType::fp32 && type != DataType::fp64 &&
         type != DataType::bytes && type != DataType::boolean;
}

/// The elements of an output of an answer are those that were sent.
void requireSameElements(const Tensor& sent, const JsonElements& data) {
  const auto read =
      readElements(sent.name, data, sent.type, elementsOf(sent.shape).value());
  require(bool(read), "an answer reads back");
  if (sent.type != DataType::bytes)
    require(read->size() == sent.data.size(), "all elements are sent");
  if (isInteger(sent.type))
    require(*read == sent.data, "integers are sent as they are");
}

void echo(const InferRequest& request) {
  InferResponse response;
  response.model = "m";
  response.version = "1";
  response.id = request.id;
  response.parameters = request.parameters;
  response.outputs = request.inputs;
  const auto answer = inferAnswerOf(response, InferCall());
  const auto flat = generateAnswerOf(response);
  requireReason(answer.status());
  requireReason(flat.status());
  if (flat)
    require(bool(parseRequestJson(*flat, flat->size())), "an answer is JSON");
  if (!answer) // FP16, or binary data that does not fit the shape
    return;
  // Outputs have the form of inputs.
  std::string body = answer->body;
  constexpr std::string_view key = "\"outputs\":";
  body.replace(body.rfind(key), key.size(), "\"inputs\":");
  const auto json = parseRequestJson(body, body.size(), ElementPlace::inputs);
  require(bool(json), "an answer is JSON");
  require(json->elements.size() == request.inputs.size(),
          "all outputs are sent");
  for (size_t i = 0; i < request.inputs.size(); ++i)
    requireSameElements(request.inputs[i], json->elements[i]);
}

void infer(const ModelMetadata& model, std::string_view body,
           std::optional<size_t> jsonBytes) {
  const auto call = readInferBody(model, body, jsonBytes, mostBytes);
  requireReason(call.status());
  if (!call)
    return;
  for (const Tensor& each : call->request.inputs) {
    require(each.data.size() <= mostBytes + sizeof(uint32_t),
            "a tensor has the most bytes of an input");
    for (const int64_t size : each.shape)
      require(size >= 0, "no dimension is negative");
  }
  echo(call->request);
}

void inferWithBinary(std::string_view input) {
  if (input.size() < 2)
    return;
  const std::string_view body = input.substr(2);
  const size_t length = size_t(static_cast<unsigned char>(input[0])) |
                        size_t(static_cast<unsigned char>(input[1])) << 8;
  infer(twoInputs(), body, length % (body.size() + 1));
  infer(oneInput(), body, 0);
}

void generate(std::string_view body) {
  const auto request = readGenerateBody(twoInputs(), body, mostBytes);
  requireReason(request.status());
  if (request)
    echo(*request);
}

void others(std::string_view body) {
  requireReason(readIndexBody(body, mostBytes).status());
  requireReason(readLoadBody(body, mostBytes).status());
  requireReason(readUnloadBody(body, mostBytes).status());
  requireReason(readLogBody({}, body, mostBytes).status());
  TraceSettings traces;
  const auto changes = readTraceBody(body, mostBytes);
  requireReason(changes.status());
  if (changes)
    requireReason(traces.change("m", *changes));
  require(bool(parseRequestJson(traceJson(traces.of("m")), mostBytes)),
          "settings are JSON");
  (void)acceptedCodingOf(body);
  const auto inflated = decompress(body, mostBytes);
  requireReason(inflated.status());
  require(!inflated || inflated->size() <= mostBytes,
          "an inflated body has the most bytes of an input");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0)
    return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  switch (data[0] % 4) {
  case 0:
    infer(twoInputs(), rest, std::nullopt);
    break;
  case 1:
    inferWithBinary(rest);
    break;
  case 2:
    generate(rest);
    break;
  default:
    others(rest);
  }
  return 0;
}
