// Models of repository folders in service: answers, failures, replacement.

#include "runtime/server/repository/Repository.h"

#include "runtime/server/repository/FolderSource.h"
#include "test/runtime/checkpoint/TestFolder.h"
#include "test/runtime/server/repository/LoopThread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace reciperun::server {
namespace {

const char* const simple = R"(
backend: "add_sub"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
        { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
         { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]
)";

std::string identity(const std::string& more) {
  return R"(backend: "identity" max_batch_size: 4
input [ { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
)" + more;
}

Tensor numbers(const std::string& name, const std::vector<int32_t>& values,
               std::vector<int64_t> shape) {
  return {.name = name,
          .type = DataType::int32,
          .shape = std::move(shape),
          .data = {reinterpret_cast<const char*>(values.data()),
                   values.size() * sizeof(int32_t)}};
}

std::vector<int32_t> valuesOf(const Tensor& tensor) {
  const auto* const first =
      reinterpret_cast<const int32_t*>(tensor.data.data());
  return {first, first + tensor.data.size() / sizeof(int32_t)};
}

/// A server of a folder's models.
class Server {
public:
  Server(const checkpoint::TestFolder& folder,
         Repository::Settings settings = {})
      : source({.folders = {folder.path()}, .configName = {}}) {
    repository =
        std::make_unique<Repository>(loop.get(), source, std::move(settings));
    started = wait([&](auto then) { repository->start(then); });
  }
  ~Server() {
    loop.call([this] { repository.reset(); });
  }

  InferResponse ask(InferRequest request) {
    return send(std::move(request)).get();
  }
  std::future<InferResponse> send(InferRequest request) {
    auto answer = std::make_shared<std::promise<InferResponse>>();
    loop.call([&] {
      return last = repository->infer(std::move(request),
                                      [answer](InferResponse response) {
                                        answer->set_value(std::move(response));
                                      });
    });
    return answer->get_future();
  }
  Status load(const std::string& name, LoadOverrides overrides = {}) {
    return wait(
        [&](auto then) { repository->load(name, std::move(overrides), then); });
  }
  Status unload(const std::string& name) {
    return wait([&](auto then) { repository->unload(name, false, then); });
  }
  ModelStatistics statistics(const std::string& name) {
    return loop.call(
        [&] { return (*repository->statistics(name, -1)).front(); });
  }

  LoopThread loop;
  FolderSource source;
  std::unique_ptr<Repository> repository; // of the loop's thread
  Status started;
  std::shared_ptr<Inference> last;

private:
  Status wait(const std::function<void(std::function<void(Status)>)>& begin) {
    std::promise<Status> outcome;
    loop.call([&] {
      begin([&outcome](const Status& status) { outcome.set_value(status); });
    });
    return outcome.get_future().get();
  }
};

InferRequest sumRequest(const std::string& model = "simple") {
  std::vector<int32_t> left(16), right(16, 1);
  std::iota(left.begin(), left.end(), 0);
  InferRequest request;
  request.model = model;
  request.inputs = {numbers("INPUT0", left, {1, 16}),
                    numbers("INPUT1", right, {1, 16})};
  return request;
}

InferRequest oneNumber(const std::string& model, int32_t value) {
  InferRequest request;
  request.model = model;
  request.inputs = {numbers("IN", {value}, {1, 1})};
  return request;
}

void addModel(const checkpoint::TestFolder& folder, const std::string& name,
              const std::string& config, const std::string& version = "1") {
  folder.write(name + "/config.pbtxt", config);
  folder.write(name + "/" + version + "/.keep", "");
}

TEST(Repository, AnswersAndCounts) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  Server server(folder);
  ASSERT_TRUE(server.started.isOk()) << server.started.message();
  const InferResponse response = server.ask(sumRequest());
  ASSERT_TRUE(response.status.isOk()) << response.status.message();
  EXPECT_EQ(response.model, "simple");
  EXPECT_EQ(response.version, "1");
  ASSERT_EQ(response.outputs.size(), 2u);
  EXPECT_EQ(valuesOf(response.outputs[0])[3], 4);
  EXPECT_EQ(valuesOf(response.outputs[1])[3], 2);
  const ModelStatistics counts = server.statistics("simple");
  EXPECT_EQ(counts.success.count, 1u);
  EXPECT_EQ(counts.executionCount, 1u);
  EXPECT_EQ(counts.inferenceCount, 1u);
}

TEST(Repository, MetadataTellsOfBatchesAndResponses) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  addModel(folder, "one", R"(backend: "identity"
input [ { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
)");
  Server server(folder);
  const auto metadata = [&](const char* model) {
    return server.loop.call(
        [&] { return *server.repository->metadata(model, -1); });
  };
  EXPECT_TRUE(metadata("simple").isBatched);
  EXPECT_FALSE(metadata("one").isBatched);
  EXPECT_FALSE(metadata("one").isDecoupled);
}

TEST(Repository, OutputsAreSentAsTheirClasses) {
  checkpoint::TestFolder folder;
  std::string config = simple;
  const std::string name = "name: \"OUTPUT0\"";
  config.insert(config.find(name), "label_filename: \"labels.txt\" ");
  addModel(folder, "simple", config);
  folder.write("simple/labels.txt", "zero\r\none\n");
  Server server(folder);
  InferRequest request = sumRequest();
  request.outputs = {{"OUTPUT0", 1}, {"OUTPUT1", 0}};
  const InferResponse response = server.ask(request);
  ASSERT_TRUE(response.status.isOk()) << response.status.message();
  ASSERT_EQ(response.outputs.size(), 2u);
  EXPECT_EQ(response.outputs[0].shape, std::vector<int64_t>({1, 1}));
  const auto classes = bytesElements(response.outputs[0].data);
  ASSERT_TRUE(classes);
  EXPECT_EQ(*classes, std::vector<std::string_view>({"16:15"}));
  EXPECT_EQ(response.outputs[1].type, DataType::int32);
  std::vector<int32_t> descending(16);
  std::iota(descending.rbegin(), descending.rend(), 0);
  request.inputs[0] = numbers("INPUT0", descending, {1, 16});
  const InferResponse labelled = server.ask(request);
  EXPECT_EQ(*bytesElements(labelled.outputs[0].data),
            std::vector<std::string_view>({"16:0:zero"}));
}

TEST(Repository, LabelsAreInTheModelsFolder) {
  checkpoint::TestFolder folder;
  const std::map<std::string, std::string> files = {
      {"outside", "../labels.txt"},
      {"missing", "none.txt"},
      {"linked", "l.txt"}};
  for (const auto& [model, file] : files) {
    std::string config = simple;
    config.insert(config.find("name: \"OUTPUT0\""),
                  "label_filename: \"" + file + "\" ");
    addModel(folder, model, config);
  }
  folder.write("labels.txt", "a\n");
  std::filesystem::create_symlink("../labels.txt", folder / "linked/l.txt");
  Server server(folder);
  const auto index =
      server.loop.call([&] { return server.repository->index(false); });
  ASSERT_EQ(index.size(), files.size());
  for (const IndexEntry& each : index) {
    EXPECT_NE(each.state, "READY") << each.name;
    EXPECT_EQ(each.reason.find(folder.path().string()), std::string::npos)
        << each.reason;
  }
}

TEST(Repository, FailuresHaveTritonsTexts) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  Server server(folder);
  const auto failureOf = [&](InferRequest request) {
    return server.ask(std::move(request)).status.message();
  };
  const std::string id = "[request id: <id_unknown>] ";
  InferRequest request = sumRequest("absent");
  EXPECT_EQ(failureOf(request),
            "Request for unknown model: 'absent' is not found");
  request = sumRequest();
  request.version = 9;
  EXPECT_EQ(failureOf(request),
            "Request for unknown model: 'simple' version 9 is not found");
  request = sumRequest();
  request.inputs.pop_back();
  EXPECT_EQ(failureOf(request),
            id + "expected 2 inputs but got 1 inputs for model 'simple'. Got "
                 "input(s) ['INPUT0'], but missing required input(s) "
                 "['INPUT1']. Please provide all required input(s).");
  request = sumRequest();
  request.inputs[0].type = DataType::fp32;
  EXPECT_EQ(failureOf(request),
            id + "inference input 'INPUT0' data-type is 'FP32', but model "
                 "'simple' expects 'INT32'");
  request = sumRequest();
  request.inputs[0].shape = {1, 15};
  EXPECT_NE(failureOf(request).find(
                id + "unexpected shape for input 'INPUT0' for model 'simple'. "
                     "Expected [-1,16], got [1,15]. NOTE: "),
            std::string::npos);
  request = sumRequest();
  request.id = "7";
  request.inputs[1].data.resize(8);
  EXPECT_EQ(failureOf(request),
            "[request id: 7] input byte size mismatch for input 'INPUT1' for "
            "model 'simple'. Expected 64, got 8");
  request = sumRequest();
  for (Tensor& tensor : request.inputs)
    tensor.shape = {9, 16};
  EXPECT_EQ(failureOf(request),
            id + "inference request batch-size must be <= 8 for 'simple'");
  request = sumRequest();
  request.outputs = {{.name = "OUTPUT7"}};
  EXPECT_EQ(failureOf(request),
            id + "unexpected inference output 'OUTPUT7' for model 'simple'");
}

TEST(Repository, OneBrokenModelLeavesTheOthers) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  addModel(folder, "broken", "backend: \"add_sub\" max_batch: 3");
  Server server(folder);
  EXPECT_NE(server.started.message().find(
                "load failed for model 'broken': config.pbtxt:1:20: unknown "
                "field `max_batch` of `ModelConfig`; did you mean "
                "`max_batch_size`?"),
            std::string::npos)
      << server.started.message();
  EXPECT_TRUE(server.ask(sumRequest()).status.isOk());
  EXPECT_FALSE(server.loop.call([&] { return server.repository->isReady(); }));
  Server lenient(folder, {.isReadyWithAllModels = false});
  EXPECT_TRUE(lenient.loop.call([&] { return lenient.repository->isReady(); }));
}

TEST(Repository, RequestsThatWaitFormBatches) {
  checkpoint::TestFolder folder;
  addModel(folder, "slow",
           identity("dynamic_batching { } parameters { key: "
                    "\"execute_delay_ms\" value { string_value: \"300\" } }"));
  Server server(folder);
  std::vector<std::future<InferResponse>> answers;
  for (int32_t i = 0; i < 5; ++i)
    answers.push_back(server.send(oneNumber("slow", i)));
  for (int32_t i = 0; i < 5; ++i) {
    const InferResponse response = answers[size_t(i)].get();
    ASSERT_TRUE(response.status.isOk()) << response.status.message();
    EXPECT_EQ(valuesOf(response.outputs[0]), std::vector<int32_t>({i}));
  }
  const ModelStatistics counts = server.statistics("slow");
  EXPECT_EQ(counts.inferenceCount, 5u);
  EXPECT_EQ(counts.executionCount, 2u) << "one, then four that waited";
  EXPECT_EQ(counts.batches.at(4).computeInfer.count, 1u);
}

TEST(Repository, EnsemblesLoadTheirSteps) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  addModel(folder, "twice", R"(
platform: "ensemble"
max_batch_size: 8
input [ { name: "A" data_type: TYPE_INT32 dims: [ 16 ] },
        { name: "B" data_type: TYPE_INT32 dims: [ 16 ] } ]
output [ { name: "C" data_type: TYPE_INT32 dims: [ 16 ] } ]
ensemble_scheduling { step [
  { model_name: "simple" model_version: -1
    input_map { key: "INPUT0" value: "A" }
    input_map { key: "INPUT1" value: "B" }
    output_map { key: "OUTPUT0" value: "sum" } },
  { model_name: "simple" model_version: -1
    input_map { key: "INPUT0" value: "sum" }
    input_map { key: "INPUT1" value: "B" }
    output_map { key: "OUTPUT0" value: "C" } } ] }
)");
  Server server(folder,
                {.control = ModelControl::explicitly, .startWith = {"twice"}});
  ASSERT_TRUE(server.started.isOk()) << server.started.message();
  InferRequest request = sumRequest("twice");
  request.inputs[0].name = "A";
  request.inputs[1].name = "B";
  InferResponse response = server.ask(request);
  ASSERT_TRUE(response.status.isOk()) << response.status.message();
  EXPECT_EQ(response.outputs[0].name, "C");
  EXPECT_EQ(valuesOf(response.outputs[0])[5], 7);
  ASSERT_TRUE(server.unload("simple").isOk());
  response = server.ask(request);
  EXPECT_EQ(response.status.message(),
            "Request for unknown model: 'twice' has no available versions");
}

TEST(Repository, EnsemblesThatContainEachOtherAreRefused) {
  checkpoint::TestFolder folder;
  const auto ensembleOf = [](const std::string& model) {
    return "platform: \"ensemble\" max_batch_size: 8 "
           "input [ { name: \"A\" data_type: TYPE_INT32 dims: [ 16 ] } ] "
           "output [ { name: \"B\" data_type: TYPE_INT32 dims: [ 16 ] } ] "
           "ensemble_scheduling { step [ { model_name: \"" +
           model +
           "\" model_version: -1 input_map { key: \"A\" value: \"A\" } "
           "output_map { key: \"B\" value: \"B\" } } ] }";
  };
  addModel(folder, "one", ensembleOf("two"));
  addModel(folder, "two", ensembleOf("one"));
  Server server(folder);
  EXPECT_FALSE(server.started.isOk());
  const auto index =
      server.loop.call([&] { return server.repository->index(false); });
  ASSERT_EQ(index.size(), 2u);
  const bool isNamed = std::ranges::any_of(index, [](const IndexEntry& each) {
    return each.reason.starts_with("circular dependency between ensembles");
  });
  EXPECT_TRUE(isNamed) << index[0].reason << "\n" << index[1].reason;
}

TEST(Repository, LoadsAndUnloadsOnRequest) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  Server server(folder, {.control = ModelControl::explicitly});
  EXPECT_EQ(server.ask(sumRequest()).status.message(),
            "Request for unknown model: 'simple' is not found");
  EXPECT_EQ(server.load("absent").message(),
            "failed to load 'absent', failed to poll from model repository");
  EXPECT_EQ(server.load("../simple").code(), StatusCode::invalidArgument);
  ASSERT_TRUE(server.load("simple").isOk());
  EXPECT_TRUE(server.ask(sumRequest()).status.isOk());
  folder.write("simple/config.pbtxt", "backend: \"none\"");
  EXPECT_FALSE(server.load("simple").isOk());
  EXPECT_TRUE(server.ask(sumRequest()).status.isOk())
      << "a failed load keeps the model";
  ASSERT_TRUE(server.unload("simple").isOk());
  EXPECT_FALSE(server.ask(sumRequest()).status.isOk());
  const auto index =
      server.loop.call([&] { return server.repository->index(false); });
  ASSERT_EQ(index.size(), 1u);
  EXPECT_EQ(index[0].state, "UNAVAILABLE");
  EXPECT_EQ(index[0].reason, "unloaded");
}

/// `identity` with a warm-up of three batches that take 100 ms each.
std::string warmIdentity() {
  return identity("model_warmup { name: \"w\" batch_size: 4 count: 3 inputs { "
                  "key: \"IN\" value { data_type: TYPE_INT32 dims: [ 1 ] "
                  "zero_data: true } } } parameters { key: "
                  "\"execute_delay_ms\" value { string_value: \"100\" } } "
                  "response_cache { enable: true }");
}

TEST(Repository, AVersionIsReadyAfterItsWarmup) {
  checkpoint::TestFolder folder;
  addModel(folder, "warm", warmIdentity());
  Server server(folder,
                {.control = ModelControl::explicitly, .cacheBytes = 1 << 20});
  const auto begin = std::chrono::steady_clock::now();
  auto loaded = std::async([&] { return server.load("warm"); });
  while (loaded.wait_for(std::chrono::milliseconds(10)) !=
         std::future_status::ready) {
    const bool isReady = server.loop.call([&] {
      const auto ready = server.repository->isModelReady("warm", -1);
      return ready && *ready;
    });
    EXPECT_TRUE(!isReady || std::chrono::steady_clock::now() - begin >=
                                std::chrono::milliseconds(300));
  }
  ASSERT_TRUE(loaded.get().isOk());
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            std::chrono::milliseconds(300));
  ModelStatistics counts = server.statistics("warm");
  EXPECT_EQ(counts.success.count, 0u);
  EXPECT_EQ(counts.executionCount, 0u);
  EXPECT_EQ(counts.cacheMiss.count, 0u);
  EXPECT_GE(counts.loadSeconds, 0.3);
  EXPECT_TRUE(server.ask(oneNumber("warm", 0)).status.isOk());
  counts = server.statistics("warm");
  EXPECT_EQ(counts.executionCount, 1u);
  EXPECT_EQ(counts.cacheHit.count, 0u)
      << "the cache has no response to a request of the warm-up";
}

TEST(Repository, TheOldVersionAnswersDuringTheWarmup) {
  checkpoint::TestFolder folder;
  addModel(folder, "warm", identity(""));
  Server server(folder,
                {.control = ModelControl::explicitly, .startWith = {"warm"}});
  addModel(folder, "warm", warmIdentity(), "2");
  auto loaded = std::async([&] { return server.load("warm"); });
  EXPECT_EQ(loaded.wait_for(std::chrono::milliseconds(100)),
            std::future_status::timeout);
  EXPECT_EQ(server.ask(oneNumber("warm", 1)).version, "1");
  ASSERT_TRUE(loaded.get().isOk());
  EXPECT_EQ(server.ask(oneNumber("warm", 1)).version, "2");
}

TEST(Repository, AFailedWarmupFailsTheLoad) {
  checkpoint::TestFolder folder;
  addModel(folder, "sum", R"(backend: "add_sub"
input [ { name: "A" data_type: TYPE_INT32 dims: [ -1 ] },
        { name: "B" data_type: TYPE_INT32 dims: [ -1 ] } ]
output [ { name: "C" data_type: TYPE_INT32 dims: [ -1 ] } ]
model_warmup { name: "w" batch_size: 1
  inputs { key: "A" value { data_type: TYPE_INT32 dims: 2 zero_data: true } }
  inputs { key: "B" value { data_type: TYPE_INT32 dims: 3 zero_data: true } } }
)");
  Server server(folder);
  EXPECT_EQ(server.started.message(),
            "load failed for model 'sum': failed to run warmup sample 'w': the "
            "two inputs must have the same shape\n");
  const auto index =
      server.loop.call([&] { return server.repository->index(false); });
  ASSERT_EQ(index.size(), 1u);
  EXPECT_EQ(index[0].state, "UNAVAILABLE");
}

TEST(Repository, AServerMayEndDuringAWarmup) {
  checkpoint::TestFolder folder;
  addModel(folder, "warm", warmIdentity());
  LoopThread loop;
  FolderSource source({.folders = {folder.path()}, .configName = {}});
  auto repository =
      std::make_unique<Repository>(loop.get(), source, Repository::Settings());
  bool hasStarted = false; // of the loop's thread
  loop.call(
      [&] { repository->start([&](const Status&) { hasStarted = true; }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  loop.call([&] { repository->stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  loop.call([&] { repository.reset(); });
  EXPECT_FALSE(loop.call([&] { return hasStarted; }));
}

TEST(Repository, WithoutExplicitControlNothingIsLoaded) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple);
  Server server(folder);
  EXPECT_EQ(server.load("simple").message(),
            "explicit model load / unload is not allowed if polling is "
            "enabled");
}

TEST(Repository, TheLatestVersionAnswers) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple", simple + std::string("version_policy { all { } }"),
           "2");
  addModel(folder, "simple", simple + std::string("version_policy { all { } }"),
           "10");
  Server server(folder);
  EXPECT_EQ(server.ask(sumRequest()).version, "10");
  InferRequest request = sumRequest();
  request.version = 2;
  EXPECT_EQ(server.ask(request).version, "2");
}

TEST(Repository, SequencesKeepTheirState) {
  checkpoint::TestFolder folder;
  addModel(folder, "sums", R"(
backend: "add_sub"
max_batch_size: 4
input [ { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
sequence_batching { max_sequence_idle_microseconds: 60000000
                    state { input_name: "SUM" output_name: "OUTPUT"
                            data_type: TYPE_INT32 dims: [ 1 ] } }
)");
  Server server(folder);
  ASSERT_TRUE(server.started.isOk()) << server.started.message();
  const auto add = [&](uint64_t sequence, int32_t value, bool isStart,
                       bool isEnd) {
    InferRequest request;
    request.model = "sums";
    request.sequence = sequence;
    request.isSequenceStart = isStart;
    request.isSequenceEnd = isEnd;
    request.inputs = {numbers("INPUT", {value}, {1, 1})};
    return server.ask(std::move(request));
  };
  const auto sum = [](const InferResponse& response) {
    EXPECT_TRUE(response.status.isOk()) << response.status.message();
    return response.outputs.empty() ? -1 : valuesOf(response.outputs[0])[0];
  };
  EXPECT_EQ(sum(add(5, 1, true, false)), 1);
  EXPECT_EQ(sum(add(6, 10, true, false)), 10);
  EXPECT_EQ(sum(add(5, 2, false, false)), 3);
  EXPECT_EQ(sum(add(6, 20, false, true)), 30);
  EXPECT_EQ(sum(add(5, 3, false, true)), 6);
  EXPECT_EQ(sum(add(5, 4, true, true)), 4) << "a new sequence";
  EXPECT_EQ(add(5, 1, false, false).status.message(),
            "[request id: <id_unknown>] inference request for sequence 5 to "
            "model 'sums' must specify the START flag on the first request of "
            "the sequence");
  EXPECT_EQ(add(0, 1, true, false).status.message(),
            "[request id: <id_unknown>] inference request to model 'sums' must "
            "specify a non-zero or non-empty correlation ID");
}

TEST(Repository, EqualRequestsComeFromTheCache) {
  checkpoint::TestFolder folder;
  addModel(folder, "simple",
           simple + std::string("response_cache { enable: true }"));
  Server server(folder, {.cacheBytes = 1 << 20});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(valuesOf(server.ask(sumRequest()).outputs[0])[3], 4);
  InferRequest other = sumRequest();
  other.inputs[0].data[0] = 9;
  EXPECT_EQ(valuesOf(server.ask(other).outputs[0])[0], 10);
  const ModelStatistics counts = server.statistics("simple");
  EXPECT_EQ(counts.cacheHit.count, 2u);
  EXPECT_EQ(counts.cacheMiss.count, 2u);
  EXPECT_EQ(counts.executionCount, 2u);
}

TEST(Repository, ACancelledRequestThatWaitsEnds) {
  checkpoint::TestFolder folder;
  addModel(folder, "slow",
           identity("parameters { key: \"execute_delay_ms\" value { "
                    "string_value: \"50\" } }"));
  Server server(folder);
  auto first = server.send(oneNumber("slow", 1));
  auto second = server.send(oneNumber("slow", 2));
  server.loop.call([&] { server.last->cancel(); });
  EXPECT_EQ(second.get().status.code(), StatusCode::cancelled);
  EXPECT_TRUE(first.get().status.isOk());
}

TEST(Repository, TheRateLimiterKeepsInstancesApart) {
  checkpoint::TestFolder folder;
  const std::string limited = identity(
      "instance_group [ { kind: KIND_CPU count: 2 rate_limiter { resources [ { "
      "name: \"R\" count: 2 } ] } } ] parameters { key: \"execute_delay_ms\" "
      "value { string_value: \"20\" } }");
  addModel(folder, "limited", limited);
  const auto timeOf = [&](bool limits) {
    Server server(folder, {.limitsRates = limits, .resources = {{"R", 2}}});
    const auto begin = std::chrono::steady_clock::now();
    auto first = server.send(oneNumber("limited", 1));
    auto second = server.send(oneNumber("limited", 2));
    EXPECT_TRUE(first.get().status.isOk());
    EXPECT_TRUE(second.get().status.isOk());
    return std::chrono::steady_clock::now() - begin;
  };
  EXPECT_GE(timeOf(true), std::chrono::milliseconds(40));
}

} // namespace
} // namespace reciperun::server
