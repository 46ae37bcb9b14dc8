// See FakeModels.h.

#include "test/runtime/server/grpc/FakeModels.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/RequestCheck.h"

#include <cstring>
#include <utility>

namespace reciperun::server {
namespace {

using Config = inference::ModelConfig;

std::shared_ptr<Config> sumConfig(const std::string& name) {
  auto config = std::make_shared<Config>();
  config->set_name(name);
  config->set_platform("fake");
  config->set_max_batch_size(8);
  for (const char* each : {"INPUT0", "INPUT1"}) {
    auto& input = *config->add_input();
    input.set_name(each);
    input.set_data_type(inference::TYPE_INT32);
    input.add_dims(16);
  }
  for (const char* each : {"OUTPUT0", "OUTPUT1"}) {
    auto& output = *config->add_output();
    output.set_name(each);
    output.set_data_type(inference::TYPE_INT32);
    output.add_dims(16);
  }
  return config;
}

std::shared_ptr<Config> repeatConfig() {
  auto config = std::make_shared<Config>();
  config->set_name("repeat");
  config->mutable_model_transaction_policy()->set_decoupled(true);
  auto& input = *config->add_input();
  input.set_name("IN");
  input.set_data_type(inference::TYPE_INT32);
  input.add_dims(-1);
  auto& output = *config->add_output();
  output.set_name("OUT");
  output.set_data_type(inference::TYPE_BF16); // never looked at
  output.add_dims(1);
  return config;
}

std::vector<int32_t> elements(const Tensor& tensor) {
  std::vector<int32_t> values(tensor.data.size() / sizeof(int32_t));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

Tensor tensorOf(const char* name, std::vector<int64_t> shape,
                const std::vector<int32_t>& values) {
  return {.name = name,
          .type = DataType::int32,
          .shape = std::move(shape),
          .data = {reinterpret_cast<const char*>(values.data()),
                   values.size() * sizeof(int32_t)}};
}

Status unknownModel(const std::string& model) {
  return Status::error("Request for unknown model: '" + model +
                           "' is not found",
                       reciperun::StatusCode::notFound);
}

TensorMetadata metadataOf(const char* name) {
  return {.name = name, .type = DataType::int32, .shape = {-1, 16}};
}

bool wants(const InferRequest& request, const char* output) {
  for (const RequestedOutput& each : request.outputs)
    if (each.name == output)
      return true;
  return request.outputs.empty();
}

} // namespace

FakeModels::FakeModels() {
  for (const char* each : {"simple", "held", "twice", "silent", "failing"})
    configs[each] = sumConfig(each);
  configs["repeat"] = repeatConfig();
}

Expected<std::shared_ptr<const inference::ModelConfig>>
FakeModels::config(const std::string& model, int64_t version) const {
  const auto found = configs.find(model);
  if (found == configs.end())
    return unknownModel(model);
  if (version > 1)
    return Status::error("Request for unknown model: '" + model + "' version " +
                             std::to_string(version) + " is not found",
                         reciperun::StatusCode::notFound);
  return found->second;
}

Expected<bool> FakeModels::isModelReady(const std::string& model,
                                        int64_t version) const {
  RECIPERUN_TRY(config(model, version));
  return true;
}

Expected<ModelMetadata> FakeModels::metadata(const std::string& model,
                                             int64_t version) const {
  RECIPERUN_TRY(config(model, version));
  return ModelMetadata{
      .name = model,
      .versions = {"1"},
      .platform = "fake",
      .inputs = {metadataOf("INPUT0"), metadataOf("INPUT1")},
      .outputs = {metadataOf("OUTPUT0"), metadataOf("OUTPUT1")}};
}

Expected<std::vector<ModelStatistics>>
FakeModels::statistics(const std::string& model, int64_t version) const {
  if (!model.empty())
    RECIPERUN_TRY(config(model, version));
  ModelStatistics counts;
  counts.name = "simple";
  counts.version = "1";
  counts.lastInference = 17;
  counts.inferenceCount = 12;
  counts.executionCount = 2;
  counts.success = {12, 1200};
  counts.fail = {1, 100};
  counts.queue = {12, 300};
  counts.batches[8].computeInfer = {2, 800};
  counts.responses[3].emptyResponse = {4, 40};
  return std::vector{counts};
}

void FakeModels::answerSum(Inference& inference) {
  const InferRequest& request = inference.request;
  const auto a = elements(request.inputs[0]), b = elements(request.inputs[1]);
  std::vector<int32_t> sums, differences;
  for (size_t i = 0; i < a.size(); ++i) {
    sums.push_back(a[i] + b[i]);
    differences.push_back(a[i] - b[i]);
  }
  InferResponse response = {.model = request.model,
                            .version = "1",
                            .tokens = {.prompt = 3, .answer = 2}};
  const std::vector<int64_t>& shape = request.inputs[0].shape;
  if (wants(request, "OUTPUT0"))
    response.outputs.push_back(tensorOf("OUTPUT0", shape, sums));
  if (wants(request, "OUTPUT1"))
    response.outputs.push_back(tensorOf("OUTPUT1", shape, differences));
  inference.respond(std::move(response));
}

void FakeModels::answerRepeat(Inference& inference) const {
  for (const int32_t each : elements(inference.request.inputs[0])) {
    Tensor output = tensorOf("OUT", {1}, {each});
    if (repeatBytes > 0)
      output.data.assign(repeatBytes, 'x');
    inference.respond({.model = "repeat",
                       .version = "1",
                       .outputs = {std::move(output)},
                       .isLast = false});
  }
  inference.respond({.model = "repeat", .version = "1", .isEmpty = true});
}

void FakeModels::hold(const std::shared_ptr<Inference>& inference) {
  open.push_back(inference);
  inference->whenCancelled([this, pending = std::weak_ptr(inference)] {
    if (const auto cancelled = pending.lock())
      cancelled->fail(
          Status::error("cancelled", reciperun::StatusCode::cancelled));
    cancellations.release();
  });
  arrivals.release();
}

void FakeModels::answer(const std::shared_ptr<Inference>& inference) {
  const std::string& model = inference->request.model;
  if (model == "held" || (model == "repeat" && repeatWaits))
    return hold(inference);
  if (model == "repeat")
    return answerRepeat(*inference);
  if (model == "failing")
    return inference->fail(Status::error("it broke"));
  if (model == "silent")
    return inference->respond({.isEmpty = true});
  if (model == "twice")
    inference->respond({.model = model, .version = "1", .isLast = false});
  answerSum(*inference);
}

std::shared_ptr<Inference> FakeModels::infer(InferRequest request,
                                             Inference::Respond respond) {
  requests.push_back(request);
  const auto inference =
      std::make_shared<Inference>(std::move(request), std::move(respond));
  const InferRequest& asked = inference->request;
  const Expected<int64_t> batch = checkRequest(*configs.at(asked.model), asked);
  if (batch)
    answer(inference);
  else
    inference->fail(batch.status());
  return inference;
}

std::vector<IndexEntry> FakeModels::index(bool readyOnly) const {
  std::vector<IndexEntry> entries = {{"simple", "1", "READY", ""}};
  if (!readyOnly)
    entries.push_back({"broken", "2", "UNAVAILABLE", "no file"});
  return entries;
}

void FakeModels::load(const std::string& model, LoadOverrides given,
                      std::function<void(Status)> then) {
  overrides = std::move(given);
  then(configs.contains(model)
           ? Status::ok()
           : Status::error("failed to load '" + model +
                           "', failed to poll from model repository"));
}

void FakeModels::unload(const std::string& model, bool dependents,
                        std::function<void(Status)> then) {
  unloaded = model + (dependents ? "+" : "");
  then(Status::ok());
}

} // namespace reciperun::server
