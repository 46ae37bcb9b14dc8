// See FakeModels.h. The checks of requests are those of the real core that the
// tests of the protocol look at.

#include "test/runtime/server/kserve/FakeModels.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/Classification.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace reciperun::server {

struct FakeModels::Model {
  ModelMetadata metadata;
  size_t required = 1;     // inputs
  int64_t mostBatched = 0; // 0: no batches
  IndexEntry entry = {};
  ModelStatistics statistics = {};
};

namespace {

Status refusal(const InferRequest& request, const std::string& message) {
  return Status::error(
      "[request id: " + (request.id.empty() ? "<id_unknown>" : request.id) +
          "] " + message,
      StatusCode::invalidArgument);
}

const Tensor* findTensor(const InferRequest& request, std::string_view name) {
  const auto found = std::ranges::find(request.inputs, name, &Tensor::name);
  return found == request.inputs.end() ? nullptr : &*found;
}

template <class T>
T parameterOf(const InferRequest& request, const char* name, T usual) {
  const auto found = request.parameters.find(name);
  if (found == request.parameters.end())
    return usual;
  const T* const value = std::get_if<T>(&found->second);
  return value ? *value : usual;
}

std::vector<int32_t> numbersOf(const Tensor& tensor) {
  std::vector<int32_t> numbers(tensor.data.size() / sizeof(int32_t));
  std::memcpy(numbers.data(), tensor.data.data(), tensor.data.size());
  return numbers;
}

Tensor tensorLike(const Tensor& input, const char* name,
                  const std::vector<int32_t>& numbers) {
  Tensor made = input;
  made.name = name;
  std::memcpy(made.data.data(), numbers.data(), made.data.size());
  return made;
}

InferResponse responseTo(const InferRequest& request) {
  return {.status = {}, .model = request.model, .version = "1"};
}

InferResponse addAndSubtract(const InferRequest& request) {
  const Tensor& input = *findTensor(request, "INPUT0");
  const auto first = numbersOf(input);
  const auto second = numbersOf(*findTensor(request, "INPUT1"));
  auto sum = first, difference = first;
  for (size_t i = 0; i < first.size(); ++i) {
    sum[i] += second[i];
    difference[i] -= second[i];
  }
  InferResponse response = responseTo(request);
  response.outputs = {tensorLike(input, "OUTPUT0", sum),
                      tensorLike(input, "OUTPUT1", difference)};
  std::set<std::string> wanted;
  for (const RequestedOutput& each : request.outputs)
    wanted.insert(each.name);
  if (!wanted.empty())
    std::erase_if(response.outputs, [&](const Tensor& each) {
      return !wanted.contains(each.name);
    });
  return response;
}

InferResponse echo(const InferRequest& request, bool isBatched) {
  InferResponse response = responseTo(request);
  Tensor output = request.inputs[0];
  output.name = "OUTPUT0";
  const int64_t classes =
      request.outputs.empty() ? 0 : request.outputs[0].classes;
  if (classes > 0) {
    const std::vector<std::string> labels = {"cat", "dog", "fox"};
    auto classified = classify(output, classes, isBatched, labels);
    if (!classified)
      return {.status = classified.status()};
    output = *std::move(classified);
  }
  response.outputs.push_back(std::move(output));
  return response;
}

std::string shapeOf(std::vector<int64_t> shape) {
  return textOf(shape);
}

} // namespace

FakeModels::FakeModels(EventLoop& loop) : loop(loop) {
  const auto add =
      [&](const std::string& name, std::vector<TensorMetadata> inputs,
          std::vector<TensorMetadata> outputs, int64_t mostBatched = 0) {
        Model& model = models[name];
        model.metadata = {name,
                          {"1"},
                          "fake",
                          std::move(inputs),
                          std::move(outputs),
                          /*isBatched=*/mostBatched > 0};
        model.required = model.metadata.inputs.size();
        model.mostBatched = mostBatched;
        model.entry = {name, "1", "READY", ""};
        model.statistics.name = name;
        model.statistics.version = "1";
      };
  using enum DataType;
  add("simple", {{"INPUT0", int32, {-1, 16}}, {"INPUT1", int32, {-1, 16}}},
      {{"OUTPUT0", int32, {-1, 16}}, {"OUTPUT1", int32, {-1, 16}}}, 8);
  for (DataType type = boolean; type <= bytes; type = DataType(int(type) + 1))
    add("identity_" + std::string(nameOf(type)), {{"INPUT0", type, {-1}}},
        {{"OUTPUT0", type, {-1}}});
  add("raw_words", {{"INPUT0", bytes, {-1, 1}}}, {{"OUTPUT0", bytes, {-1, 1}}},
      8);
  add("square", {{"INPUT0", fp32, {-1, -1}}}, {{"OUTPUT0", fp32, {-1, -1}}});
  add("scores", {{"INPUT0", fp32, {-1, 4}}}, {{"OUTPUT0", fp32, {-1, 4}}}, 8);
  add("mock_llm",
      {{"PROMPT", bytes, {-1, 1}},
       {"STREAM", boolean, {-1, 1}},
       {"input_ids", int32, {-1, -1}}},
      {{"TEXT", bytes, {-1, -1}}}, 8);
  models["mock_llm"].metadata.isDecoupled = true;
  models["mock_llm"].required = 2;
  add("no_batch", {{"A", int32, {2, 3}}, {"B", fp32, {1}}},
      {{"C", int32, {2, 3}}});
  models["no_batch"].required = 1;
  add("slow", {{"INPUT0", int32, {-1}}}, {{"OUTPUT0", int32, {-1}}});
  add("two_answers", {{"INPUT0", int32, {-1}}}, {{"OUTPUT0", int32, {-1}}});
  add("half", {{"INPUT0", int32, {-1}}}, {{"OUTPUT0", fp16, {-1}}});
}

FakeModels::~FakeModels() = default;

bool FakeModels::isReady() const {
  return std::ranges::all_of(models, [](const auto& each) {
    return each.second.entry.state == "READY";
  });
}

Expected<const FakeModels::Model*> FakeModels::find(const std::string& name,
                                                    int64_t version) const {
  const std::string start = "Request for unknown model: '" + name + "'";
  const auto found = models.find(name);
  if (found == models.end())
    return Status::error(start + " is not found", StatusCode::notFound);
  if (version != -1 && version != 1)
    return Status::error(start + " version " + std::to_string(version) +
                             " is not found",
                         StatusCode::notFound);
  return &found->second;
}

Expected<bool> FakeModels::isModelReady(const std::string& model,
                                        int64_t version) const {
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  return (*found)->entry.state == "READY";
}

Expected<ModelMetadata> FakeModels::metadata(const std::string& model,
                                             int64_t version) const {
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  return (*found)->metadata;
}

Expected<std::shared_ptr<const inference::ModelConfig>>
FakeModels::config(const std::string& model, int64_t version) const {
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  auto made = std::make_shared<inference::ModelConfig>();
  made->set_name(model);
  made->set_max_batch_size(int((*found)->mostBatched));
  return std::shared_ptr<const inference::ModelConfig>(std::move(made));
}

Expected<std::vector<ModelStatistics>>
FakeModels::statistics(const std::string& model, int64_t version) const {
  std::vector<ModelStatistics> all;
  if (model.empty()) {
    for (const auto& [name, each] : models)
      all.push_back(each.statistics);
    return all;
  }
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  all.push_back((*found)->statistics);
  return all;
}

Status FakeModels::check(const Model& model,
                         const InferRequest& request) const {
  const std::string name = "'" + request.model + "'";
  const size_t most = model.metadata.inputs.size();
  const size_t got = request.inputs.size();
  if (got < model.required || got > most)
    return refusal(
        request, model.required == most
                     ? "expected " + std::to_string(most) + " inputs but got " +
                           std::to_string(got) + " inputs for model " + name
                     : "expected number of inputs between " +
                           std::to_string(model.required) + " and " +
                           std::to_string(most) + " but got " +
                           std::to_string(got) + " inputs for model " + name);
  for (const Tensor& input : request.inputs) {
    const auto declared = std::ranges::find(model.metadata.inputs, input.name,
                                            &TensorMetadata::name);
    if (declared == model.metadata.inputs.end())
      return refusal(request, "unexpected inference input '" + input.name +
                                  "' for model " + name);
    bool isFit = input.shape.size() == declared->shape.size();
    for (size_t i = 0; isFit && i < input.shape.size(); ++i)
      isFit = declared->shape[i] == -1 || declared->shape[i] == input.shape[i];
    if (!isFit)
      return refusal(request, "unexpected shape for input '" + input.name +
                                  "' for model " + name + ". Expected " +
                                  shapeOf(declared->shape) + ", got " +
                                  shapeOf(input.shape));
    const int64_t bytes =
        *elementsOf(input.shape) * int64_t(bytesOf(input.type));
    if (bytes > 0 && bytes != int64_t(input.data.size()))
      return refusal(request, "input byte size mismatch for input '" +
                                  input.name + "' for model " + name +
                                  ". Expected " + std::to_string(bytes) +
                                  ", got " + std::to_string(input.data.size()));
  }
  return Status::ok();
}

std::shared_ptr<Inference> FakeModels::infer(InferRequest request,
                                             Inference::Respond respond) {
  auto inference =
      std::make_shared<Inference>(std::move(request), std::move(respond));
  const InferRequest& asked = inference->request;
  const auto found = find(asked.model, asked.version);
  const Status refused = found ? check(**found, asked) : Status(found.status());
  if (!refused.isOk()) {
    inference->fail(refused);
    return inference;
  }
  Model& model = models[asked.model];
  ++model.statistics.inferenceCount;
  if (asked.model == "mock_llm") {
    loop.post([this, inference] { repeat(inference, 0); });
    return inference;
  }
  if (asked.model == "slow") {
    ++model.statistics.pending;
    inference->whenCancelled([&model, weak = std::weak_ptr(inference)] {
      ++model.statistics.fail.count;
      weak.lock()->fail(Status::error("cancelled", StatusCode::cancelled));
    });
    loop.runAfter(std::chrono::hours(1), [inference] {});
    return inference;
  }
  const bool isBatched = model.mostBatched > 0;
  loop.post([inference, isBatched] {
    const InferRequest& request = inference->request;
    InferResponse response = request.model == "simple"
                                 ? addAndSubtract(request)
                                 : echo(request, isBatched);
    if (request.model == "no_batch")
      response.parameters = request.parameters;
    if (request.model == "half") {
      response.outputs[0].type = DataType::fp16;
      response.outputs[0].data.resize(response.outputs[0].data.size() / 2);
    }
    if (request.model == "two_answers") {
      InferResponse first = response;
      first.isLast = false;
      inference->respond(std::move(first));
    }
    inference->respond(std::move(response));
  });
  return inference;
}

/// Sends the responses of mock_llm from `index` on.
void FakeModels::repeat(std::shared_ptr<Inference> inference, int64_t index) {
  const InferRequest& request = inference->request;
  const bool streams = findTensor(request, "STREAM")->data[0] != 0;
  const auto count =
      streams ? parameterOf<int64_t>(request, "REPETITION", 1) : int64_t(1);
  if (inference->isCancelled()) {
    ++models["mock_llm"].statistics.responses[uint64_t(index)].cancel.count;
    return inference->fail(Status::error("cancelled", StatusCode::cancelled));
  }
  InferResponse response = responseTo(request);
  if (index < count) {
    Tensor text = *findTensor(request, "PROMPT");
    text.name = "TEXT";
    response.outputs = {std::move(text)};
    response.isLast = !streams;
    inference->respond(std::move(response));
    if (streams)
      loop.runAfter(
          std::chrono::milliseconds(parameterOf<int64_t>(request, "DELAY", 0)),
          [this, inference = std::move(inference), index] {
            repeat(inference, index + 1);
          });
    return;
  }
  if (parameterOf(request, "FAIL_LAST", false))
    return inference->fail(Status::error("An Error Occurred"));
  response.isEmpty = true;
  inference->respond(std::move(response));
}

std::vector<IndexEntry> FakeModels::index(bool readyOnly) const {
  std::vector<IndexEntry> entries;
  for (const auto& [name, model] : models)
    if (!readyOnly || model.entry.state == "READY")
      entries.push_back(model.entry);
  if (!readyOnly)
    entries.push_back({"never_loaded", "", "", ""});
  return entries;
}

void FakeModels::load(const std::string& model, LoadOverrides overrides,
                      std::function<void(Status)> then) {
  loop.post([this, model, overrides = std::move(overrides), then] {
    if (model == "broken")
      return then(Status::error("load failed for model 'broken': no reason\n",
                                StatusCode::invalidArgument));
    if (model == "missing")
      return then(Status::error("failed to load 'missing', failed to poll from "
                                "model repository"));
    Model& loaded = models[model];
    loaded.entry = {model, "1", "READY", overrides.config.value_or("")};
    for (const auto& [path, contents] : overrides.files)
      loaded.entry.reason += " " + path + "=" + contents;
    then(Status::ok());
  });
}

void FakeModels::unload(const std::string& model, bool dependents,
                        std::function<void(Status)> then) {
  isStopping = model == "stop";
  const auto found = models.find(model);
  if (found != models.end()) {
    found->second.entry.state = "UNAVAILABLE";
    found->second.entry.reason = dependents ? "with dependents" : "unloaded";
  }
  then(model == "needed"
           ? Status::error("failed to unload 'needed', versions that are "
                           "still available: 1,2")
           : Status::ok());
}

} // namespace reciperun::server
