// What the API writes: answers of inference, metadata, statistics, the index.

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/EndpointLoad.h"
#include "runtime/server/kserve/InferAnswer.h"
#include "runtime/server/kserve/ModelJson.h"
#include "runtime/server/kserve/RepositoryJson.h"
#include "runtime/server/kserve/TensorJson.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace reciperun::server {
namespace {

template <class T> std::string bytesOfValues(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

/// `data` of an output, or why it cannot be written.
std::string dataOf(DataType type, std::vector<int64_t> shape,
                   std::string bytes) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  const Status written =
      writeElements(writer, {"O", type, std::move(shape), std::move(bytes)});
  return written.isOk() ? std::string(buffer.GetString(), buffer.GetSize())
                        : written.message();
}

TEST(Answers, EveryDatatypeInJson) {
  EXPECT_EQ(dataOf(DataType::boolean, {3}, std::string("\0\1\2", 3)),
            "[false,true,true]");
  EXPECT_EQ(dataOf(DataType::uint8, {1}, "\xff"), "[255]");
  EXPECT_EQ(dataOf(DataType::int8, {1}, "\xff"), "[-1]");
  EXPECT_EQ(dataOf(DataType::uint16, {1}, bytesOfValues<uint16_t>({65535})),
            "[65535]");
  EXPECT_EQ(dataOf(DataType::int16, {1}, bytesOfValues<int16_t>({-2})), "[-2]");
  EXPECT_EQ(dataOf(DataType::uint32, {1}, bytesOfValues<uint32_t>({1u << 31})),
            "[2147483648]");
  EXPECT_EQ(dataOf(DataType::int32, {2, 1}, bytesOfValues<int32_t>({1, -1})),
            "[1,-1]");
  EXPECT_EQ(dataOf(DataType::uint64, {1}, bytesOfValues<uint64_t>({~0ull})),
            "[18446744073709551615]");
  EXPECT_EQ(dataOf(DataType::int64, {1}, bytesOfValues<int64_t>({-3})), "[-3]");
  EXPECT_EQ(dataOf(DataType::fp32, {3}, bytesOfValues<float>({1, 0.1f, -0.f})),
            "[1.0,0.10000000149011612,-0.0]");
  EXPECT_EQ(dataOf(DataType::fp64, {2}, bytesOfValues<double>({0.1, 1e300})),
            "[0.1,1e300]");
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(
      dataOf(DataType::fp32, {3},
             bytesOfValues<float>({std::numeric_limits<float>::quiet_NaN(),
                                   infinity, -infinity})),
      "[NaN,Infinity,-Infinity]");
  EXPECT_EQ(
      dataOf(DataType::bytes, {2}, std::string("\2\0\0\0a\"\1\0\0\0\xff", 11)),
      "[\"a\\\"\",\"\uFFFD\"]");
}

TEST(Answers, OutputsThatCannotBeWritten) {
  EXPECT_EQ(dataOf(DataType::bf16, {1}, "ab"),
            "sending BF16 data via JSON is not supported. Please use the "
            "binary data format for output");
  const std::string wrong = "Failed to write 'data' field: output tensor shape "
                            "does not match size of output for 'O'";
  EXPECT_EQ(dataOf(DataType::int32, {2}, "abcd"), wrong);
  EXPECT_EQ(dataOf(DataType::int32, {-1}, "abcd"), wrong);
  EXPECT_EQ(dataOf(DataType::bytes, {2}, std::string("\1\0\0\0a", 5)), wrong);
  EXPECT_EQ(dataOf(DataType::bytes, {1}, std::string("\2\0\0\0a", 5)), wrong);
}

TEST(Answers, BytesFollowTheJson) {
  InferResponse response;
  response.model = "simple";
  response.version = "3";
  response.id = "x";
  response.parameters = {{"n", int64_t(1)}};
  response.outputs = {{"A", DataType::int8, {1, 2}, "\1\2"},
                      {"B", DataType::int8, {1, 1}, "\3"},
                      {"C", DataType::int8, {0}, ""}};
  InferCall call;
  call.isBinary = {{"A", true}, {"B", false}, {"C", true}};
  const auto answer = inferAnswerOf(response, call);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->body.substr(0, answer->jsonBytes),
            R"({"id":"x","model_name":"simple","model_version":"3",)"
            R"("parameters":{"n":1},"outputs":[)"
            R"({"name":"A","datatype":"INT8","shape":[1,2],)"
            R"("parameters":{"binary_data_size":2}},)"
            R"({"name":"B","datatype":"INT8","shape":[1,1],"data":[3]},)"
            R"({"name":"C","datatype":"INT8","shape":[0],)"
            R"("parameters":{"binary_data_size":0}}]})");
  EXPECT_EQ(answer->body.substr(answer->jsonBytes), "\1\2");
  EXPECT_TRUE(answer->isBinary());
  call.isBinary["A"] = false;
  EXPECT_FALSE(inferAnswerOf(response, call)->isBinary());
}

TEST(Answers, CodesOfFailuresAreTritons) {
  using enum StatusCode;
  EXPECT_EQ(httpStatusOf(internal), 500);
  EXPECT_EQ(httpStatusOf(notFound), 404);
  EXPECT_EQ(httpStatusOf(unavailable), 503);
  EXPECT_EQ(httpStatusOf(unsupported), 501);
  for (const StatusCode code :
       {invalidArgument, alreadyExists, cancelled, unknown})
    EXPECT_EQ(httpStatusOf(code), 400);
  EXPECT_EQ(httpStatusOf(Status::ok()), 200);
  EXPECT_EQ(errorJson("a \"b\" \xff"), "{\"error\":\"a \\\"b\\\" \uFFFD\"}");
}

TEST(Answers, MetadataOfServerAndModel) {
  EXPECT_EQ(
      serverMetadataJson("s", "1"),
      R"({"name":"s","version":"1","extensions":["classification","sequence",)"
      R"x("model_repository","model_repository(unload_dependents)",)x"
      R"("schedule_policy","model_configuration","system_shared_memory",)"
      R"("cuda_shared_memory","binary_tensor_data","parameters","statistics",)"
      R"("trace","logging"]})");
  EXPECT_EQ(metadataJson({"m",
                          {"1", "2"},
                          "p",
                          {{"I", DataType::fp16, {-1, 3}}},
                          {{"O", DataType::bytes, {}}}}),
            R"({"name":"m","versions":["1","2"],"platform":"p",)"
            R"("inputs":[{"name":"I","datatype":"FP16","shape":[-1,3]}],)"
            R"("outputs":[{"name":"O","datatype":"BYTES","shape":[]}]})");
}

TEST(Answers, Statistics) {
  ModelStatistics model;
  model.name = "m";
  model.version = "2";
  model.lastInference = 5;
  model.inferenceCount = 6;
  model.executionCount = 7;
  model.success = {1, 10};
  model.cacheMiss = {2, 20};
  model.batches[4].computeInfer = {3, 30};
  model.responses[0].emptyResponse = {4, 40};
  const std::string none = R"({"count":0,"ns":0})";
  EXPECT_EQ(statisticsJson(std::vector{model}),
            R"({"model_stats":[{"name":"m","version":"2","last_inference":5,)"
            R"("inference_count":6,"execution_count":7,"inference_stats":{)"
            R"("success":{"count":1,"ns":10},"fail":)" +
                none + R"(,"queue":)" + none + R"(,"compute_input":)" + none +
                R"(,"compute_infer":)" + none + R"(,"compute_output":)" + none +
                R"(,"cache_hit":)" + none +
                R"(,"cache_miss":{"count":2,"ns":20}},"response_stats":{"0":{)"
                R"("compute_infer":)" +
                none + R"(,"compute_output":)" + none + R"(,"success":)" +
                none + R"(,"fail":)" + none +
                R"(,"empty_response":{"count":4,"ns":40},"cancel":)" + none +
                R"(}},"batch_stats":[{"batch_size":4,"compute_input":)" + none +
                R"(,"compute_infer":{"count":3,"ns":30},"compute_output":)" +
                none + R"(}],"memory_usage":[]}]})");
}

TEST(Answers, TheIndexOmitsWhatIsEmpty) {
  EXPECT_EQ(
      indexJson(std::vector<IndexEntry>{{"a", "1", "READY", ""},
                                        {"b", "", "", ""},
                                        {"c", "2", "UNAVAILABLE", "unloaded"}}),
      R"([{"name":"a","version":"1","state":"READY"},{"name":"b"},)"
      R"({"name":"c","version":"2","state":"UNAVAILABLE",)"
      R"("reason":"unloaded"}])");
}

TEST(Answers, TheLoadOfAnEngine) {
  const EndpointLoad load = {0.5, 1024};
  EXPECT_EQ(endpointLoadHeader(load, "text"),
            "TEXT named_metrics.kv_cache_utilization=0.500000, "
            "named_metrics.max_token_capacity=1024");
  EXPECT_EQ(endpointLoadHeader(load, "json"),
            R"(JSON {"named_metrics":{"kv_cache_utilization":0.5,)"
            R"("max_token_capacity":1024}})");
  EXPECT_EQ(endpointLoadHeader(load, "xml"), "");
}

} // namespace
} // namespace reciperun::server
