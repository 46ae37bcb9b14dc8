// Bodies and answers of the generate extension.

#include "runtime/server/kserve/GenerateBody.h"

#include "runtime/server/kserve/AnswerJson.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace reciperun::server {
namespace {

constexpr size_t mostGenerateBytes = 1 << 12;

const ModelMetadata model = {"llm",
                             {"1"},
                             "fake",
                             {{"text_input", DataType::bytes, {-1, 1}},
                              {"pairs", DataType::int32, {-1, -1, 2}},
                              {"four", DataType::fp32, {4}},
                              {"flag", DataType::boolean, {1}},
                              {"half", DataType::fp16, {1}}},
                             {},
                             /*isBatched=*/true};

Expected<InferRequest> readGenerate(std::string_view body) {
  return readGenerateBody(model, body, mostGenerateBytes);
}

std::vector<int64_t> shapeOfFirst(std::string_view body) {
  const auto request = readGenerate(body);
  EXPECT_TRUE(request) << request.message();
  return request && !request->inputs.empty() ? request->inputs[0].shape
                                             : std::vector<int64_t>();
}

std::string generateRefusal(std::string_view body) {
  const auto request = readGenerate(body);
  return request ? "accepted"
                 : std::to_string(httpStatusOf(request.status().code())) + " " +
                       request.message();
}

TEST(GenerateBody, MembersAreInputsOrParameters) {
  const auto request =
      readGenerate(R"({"text_input":"hi","id":"4","max_tokens":5,"ratio":0.5,
               "parameters":{"flag":true,"stream":false}})");
  ASSERT_TRUE(request) << request.message();
  EXPECT_EQ(request->id, "4");
  ASSERT_EQ(request->inputs.size(), 2u);
  EXPECT_EQ(request->inputs[0].name, "text_input");
  EXPECT_EQ(request->inputs[0].data, std::string("\2\0\0\0hi", 6));
  EXPECT_EQ(request->inputs[1].name, "flag");
  EXPECT_EQ(request->inputs[1].data, "\1");
  const Parameters expected = {
      {"max_tokens", int64_t(5)}, {"ratio", 0.5}, {"stream", false}};
  EXPECT_EQ(request->parameters, expected);
}

TEST(GenerateBody, ValuesGetTheModelsShape) {
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shapeOfFirst(R"({"text_input":"a"})"), Shape({1, 1}));
  EXPECT_EQ(shapeOfFirst(R"({"text_input":["a","b"]})"), Shape({2, 1}));
  EXPECT_EQ(shapeOfFirst(R"({"pairs":[1,2,3,4,5,6]})"), Shape({1, 3, 2}));
  EXPECT_EQ(shapeOfFirst(R"({"four":[1,2,3,4]})"), Shape({4}));
  EXPECT_EQ(shapeOfFirst(R"({"pairs":[]})"), Shape());
}

TEST(GenerateBody, RefusalsHaveTritonsText) {
  EXPECT_EQ(generateRefusal(""),
            "500 failed to parse the request JSON buffer: The "
            "document is empty. at 0");
  EXPECT_EQ(generateRefusal("[]"), "500 attempt to get members for non-object");
  EXPECT_EQ(generateRefusal(R"({"id":1})"),
            "500 Unable to parse 'id': attempt to access JSON non-string as "
            "string");
  EXPECT_EQ(generateRefusal(R"({"four":[1,2,3]})"),
            "400 The schema can not convert input 'four' to tensor with proper "
            "shape");
  EXPECT_EQ(generateRefusal(R"({"four":[1,2,3,4,5,6,7,8]})"),
            "400 The schema can not convert input 'four' to tensor with proper "
            "shape");
  EXPECT_EQ(generateRefusal(R"({"four":[[1,2],[3,4]]})"),
            "400 The schema can not convert input 'four' to tensor with proper "
            "shape");
  EXPECT_EQ(generateRefusal(R"({"pairs":[[1,2],[3,4]]})"),
            "500 Unable to parse 'data': Shape does not match true shape of "
            "'data' field");
  EXPECT_EQ(generateRefusal(R"({"parameters":{"four":[1,2,3,"a"]}})"),
            "500 Converting keyword: 'parameters': Unable to parse 'data': "
            "attempt to access JSON non-number as double");
  EXPECT_EQ(generateRefusal(R"({"PARAMS":{"a":1}})"),
            "400 parameter 'PARAMS' has invalid type. It should be either "
            "'int', 'bool', or 'string'.");
  EXPECT_EQ(generateRefusal(R"({"parameters":{"a":null}})"),
            "400 Converting keyword: 'parameters': parameter 'a' has invalid "
            "type. It should be either 'int', 'bool', or 'string'.");
  EXPECT_EQ(generateRefusal(R"({"parameters":1})"),
            "500 Expected JSON object for keyword: 'parameters': attempt to "
            "access JSON non-object as object");
  EXPECT_EQ(generateRefusal(R"({"text_input":1})"),
            "500 Unable to parse JSON bytes array: attempt to access JSON "
            "non-string as string");
  EXPECT_EQ(generateRefusal(R"({"flag":"a"})"),
            "500 Unable to parse 'data': attempt to access JSON non-boolean as "
            "boolean");
  EXPECT_EQ(generateRefusal(R"({"half":1})"),
            "400 receiving FP16 data via JSON is not supported. Please use the "
            "binary data format for input half");
  EXPECT_EQ(generateRefusal(R"({"text_input":"a","text_input":"b"})"),
            "400 [request id: <id_unknown>] input 'text_input' already exists "
            "in request");
}

TEST(GenerateBody, InputsAreLimitedTogether) {
  const auto text = [](size_t bytes) { return std::string(bytes, 'a'); };
  EXPECT_EQ(generateRefusal(text(mostGenerateBytes + 1)),
            "400 request JSON size of 4097 bytes exceeds the maximum allowed "
            "input size of 4096 bytes. Use --http-max-input-size to increase "
            "the limit.");
  // Each `0,` is four bytes of a tensor.
  std::string numbers = "0";
  for (int i = 1; i < 1000; ++i)
    numbers += ",0";
  EXPECT_EQ(generateRefusal(R"({"text_input":")" + text(200) +
                            R"(","pairs":[)" + numbers + "]}"),
            "400 request size of 204 bytes with input 'pairs' of size 4000 "
            "bytes exceeds the maximum allowed input size of 4096. Use "
            "--http-max-input-size to increase the limit.");
}

TEST(GenerateBody, ADimensionOfNoElementsIsNoDivisor) {
  const ModelMetadata empty = {
      "m", {"1"}, "fake", {{"a", DataType::int32, {0}}}, {}, false};
  EXPECT_EQ(readGenerateBody(empty, R"({"a":1})", mostGenerateBytes).message(),
            "The schema can not convert input 'a' to tensor with proper shape");
}

TEST(GenerateAnswer, IsFlatWithScalarsForSingleElements) {
  InferResponse response;
  response.id = "9";
  response.model = "llm";
  response.version = "1";
  response.parameters = {{"done", true}, {"model_name", std::string("no")}};
  response.outputs = {
      {"text_output", DataType::bytes, {1, 1}, std::string("\2\0\0\0hi", 6)},
      {"ids", DataType::int8, {1, 2}, "\1\2"},
      {"none", DataType::int8, {0}, ""}};
  const auto answer = generateAnswerOf(response);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(*answer, R"({"done":true,"id":"9","ids":[1,2],"model_name":"llm",)"
                     R"("model_version":"1","none":[],"text_output":"hi"})");
  response.outputs = {{"h", DataType::fp16, {1}, "ab"}};
  EXPECT_EQ(generateAnswerOf(response).message(),
            "sending FP16 data via JSON is not supported. Please use the "
            "binary data format for output");
}

} // namespace
} // namespace reciperun::server
