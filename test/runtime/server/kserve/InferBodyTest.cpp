// Bodies of infer requests: JSON, binary tensors, a raw tensor, and refusals
// with Triton's texts.

#include "runtime/server/kserve/InferBody.h"

#include "runtime/server/kserve/AnswerJson.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace reciperun::server {
namespace {

constexpr size_t mostInferBytes = 1 << 20;

const ModelMetadata simple = {"simple",
                              {"1"},
                              "fake",
                              {{"INPUT0", DataType::int32, {-1, 4}},
                               {"INPUT1", DataType::int32, {-1, 4}}},
                              {{"OUTPUT0", DataType::int32, {-1, 4}}},
                              /*isBatched=*/true};

template <class T> std::vector<T> elements(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

template <class T> std::string rawBytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

Expected<InferCall> read(std::string_view body,
                         std::optional<size_t> jsonBytes = std::nullopt) {
  return readInferBody(simple, body, jsonBytes, mostInferBytes);
}

InferCall readGood(std::string_view body,
                   std::optional<size_t> jsonBytes = std::nullopt) {
  auto call = read(body, jsonBytes);
  EXPECT_TRUE(call) << call.message();
  return call ? *std::move(call) : InferCall();
}

/// A body with one input of these fields.
std::string withInput(const std::string& fields) {
  return R"({"inputs":[{"name":"INPUT0",)" + fields + "}]}";
}

/// `<HTTP status> <message>` of a refusal.
std::string refusalOf(std::string_view body,
                      std::optional<size_t> jsonBytes = std::nullopt) {
  const auto call = read(body, jsonBytes);
  return call ? "accepted"
              : std::to_string(httpStatusOf(call.status().code())) + " " +
                    call.message();
}

template <class T>
std::vector<T> readValues(const std::string& datatype, const std::string& data,
                          const std::string& shape) {
  const InferCall call =
      readGood(withInput(R"("datatype":")" + datatype + R"(","shape":)" +
                         shape + R"(,"data":)" + data));
  return call.request.inputs.empty() ? std::vector<T>()
                                     : elements<T>(call.request.inputs[0]);
}

// ---- JSON

TEST(InferBody, ReadsTheParametersThatHaveAMeaning) {
  const InferCall call = readGood(
      R"({"id":"7","parameters":{"sequence_id":42,"sequence_start":true,
          "sequence_end":true,"priority":3,"timeout":1000,
          "binary_data_output":true,"text":"t","count":-5,"flag":false,
          "ratio":0.5,"large":18446744073709551615},
          "inputs":[]})");
  const InferRequest& request = call.request;
  EXPECT_EQ(request.id, "7");
  EXPECT_EQ(request.sequence, SequenceId(uint64_t(42)));
  EXPECT_TRUE(request.isSequenceStart && request.isSequenceEnd);
  EXPECT_EQ(request.priority, 3u);
  EXPECT_EQ(request.timeoutMicroseconds, 1000u);
  EXPECT_TRUE(call.sendsBinary("any"));
  const Parameters expected = {{"text", std::string("t")},
                               {"count", int64_t(-5)},
                               {"flag", false},
                               {"ratio", 0.5},
                               {"large", 18446744073709551615.0}};
  EXPECT_EQ(request.parameters, expected);
  EXPECT_EQ(readGood(R"({"parameters":{"sequence_id":"a"},"inputs":[]})")
                .request.sequence,
            SequenceId(std::string("a")));
}

TEST(InferBody, ReadsEveryDatatype) {
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(readValues<uint8_t>("BOOL", "[true,false]", "[2]"), Bytes({1, 0}));
  EXPECT_EQ(readValues<uint8_t>("UINT8", "[255]", "[1]"), Bytes({255}));
  EXPECT_EQ(readValues<uint16_t>("UINT16", "[65535]", "[1]")[0], 65535);
  EXPECT_EQ(readValues<uint32_t>("UINT32", "[4294967295]", "[1]")[0],
            4294967295u);
  EXPECT_EQ(readValues<uint64_t>("UINT64", "[18446744073709551615]", "[1]")[0],
            18446744073709551615ull);
  EXPECT_EQ(readValues<int8_t>("INT8", "[-128]", "[1]")[0], -128);
  EXPECT_EQ(readValues<int16_t>("INT16", "[-32768]", "[1]")[0], -32768);
  EXPECT_EQ(readValues<int32_t>("INT32", "[-2147483648]", "[1]")[0],
            -2147483647 - 1);
  EXPECT_EQ(readValues<int64_t>("INT64", "[-9223372036854775807]", "[1]")[0],
            -9223372036854775807);
  EXPECT_EQ(readValues<float>("FP32", "[1,0.5]", "[2]"),
            std::vector<float>({1, 0.5}));
  EXPECT_EQ(readValues<double>("FP64", "[1e300]", "[1]")[0], 1e300);
  EXPECT_EQ(readValues<char>("BYTES", R"(["ab",""])", "[2]"),
            std::vector<char>({2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0}));
}

TEST(InferBody, ReadsNaNAndInfinity) {
  const auto values = readValues<float>("FP32", "[NaN,Infinity,-Inf]", "[3]");
  ASSERT_EQ(values.size(), 3u);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_TRUE(std::isinf(values[1]) && std::isinf(values[2]));
  EXPECT_LT(values[2], 0);
}

TEST(InferBody, NestedDataIsFlat) {
  EXPECT_EQ(readValues<int32_t>("INT32", "[[1,2],[3,[4]]]", "[2,2]"),
            std::vector<int32_t>({1, 2, 3, 4}));
}

TEST(InferBody, AnEmptyTensorNeedsNoElements) {
  const InferCall call =
      readGood(withInput(R"("datatype":"INT32","shape":[0,4],"data":[])"));
  EXPECT_EQ(call.request.inputs[0].shape, std::vector<int64_t>({0, 4}));
  EXPECT_EQ(call.request.inputs[0].data, "");
}

TEST(InferBody, ListedOutputsDecideTheirForm) {
  const InferCall call = readGood(
      R"({"parameters":{"binary_data_output":true},"inputs":[],"outputs":[
          {"name":"A","parameters":{"binary_data":true}},{"name":"B"},
          {"name":"C","parameters":{"classification":2}}]})");
  EXPECT_TRUE(call.sendsBinary("A"));
  EXPECT_FALSE(call.sendsBinary("B"));
  ASSERT_EQ(call.request.outputs.size(), 3u);
  EXPECT_EQ(call.request.outputs[2].classes, 2);
}

// ---- binary tensors

TEST(InferBody, BinaryTensorsFollowTheJsonInTheOrderOfTheInputs) {
  const std::string json =
      R"({"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],
          "parameters":{"binary_data_size":8}},
         {"name":"J","datatype":"INT32","shape":[1],"data":[5]},
         {"name":"INPUT1","datatype":"FP16","shape":[1,1],
          "parameters":{"binary_data_size":2}}]})";
  const std::string body =
      json + rawBytesOf<int32_t>({1, 2}) + rawBytesOf<uint16_t>({9});
  const InferCall call = readGood(body, json.size());
  ASSERT_EQ(call.request.inputs.size(), 3u);
  EXPECT_EQ(elements<int32_t>(call.request.inputs[0]),
            std::vector<int32_t>({1, 2}));
  EXPECT_EQ(elements<int32_t>(call.request.inputs[1]),
            std::vector<int32_t>({5}));
  EXPECT_EQ(elements<uint16_t>(call.request.inputs[2]),
            std::vector<uint16_t>({9}));
  EXPECT_EQ(refusalOf(body + "x", json.size()),
            "400 unexpected additional input data for model 'simple'");
  EXPECT_EQ(refusalOf(body.substr(0, body.size() - 1), json.size()),
            "400 unexpected size for input 'INPUT1', expecting 1 additional "
            "bytes for model 'simple'");
}

TEST(InferBody, BinaryTensorsNeedTheHeader) {
  EXPECT_EQ(
      refusalOf(withInput(R"("datatype":"INT32","shape":[1,4],
                             "parameters":{"binary_data_size":16})")),
      "400 must specify valid 'Infer-Header-Content-Length' in request header "
      "and 'binary_data_size' when passing inputs in binary data format");
}

// ---- a raw tensor

Expected<InferCall> readRaw(DataType type, std::vector<int64_t> shape,
                            std::string_view body) {
  const ModelMetadata model = {
      "raw", {"1"}, "fake", {{"INPUT0", type, std::move(shape)}}, {}, true};
  return readInferBody(model, body, 0, mostInferBytes);
}

TEST(InferBody, ARawTensorTakesTheModelsShape) {
  auto call = readRaw(DataType::fp32, {-1, 2, -1}, std::string(24, 'x'));
  ASSERT_TRUE(call) << call.message();
  const Tensor& input = call->request.inputs[0];
  EXPECT_EQ(input.name, "INPUT0");
  EXPECT_EQ(input.shape, std::vector<int64_t>({1, 2, 3}));
  EXPECT_EQ(input.data, std::string(24, 'x'));
  EXPECT_TRUE(call->sendsBinary("OUTPUT0"));
  call = readRaw(DataType::bytes, {-1, 1}, "abc");
  ASSERT_TRUE(call) << call.message();
  EXPECT_EQ(call->request.inputs[0].data, std::string("\3\0\0\0abc", 7));
}

TEST(InferBody, RawTensorsThatHaveNoSingleShape) {
  EXPECT_EQ(read("x", 0).message(),
            "[request id: <id_unknown>] Raw request must only have 1 input "
            "(found 1) to be deduced but got 2 inputs in 'simple' model "
            "configuration");
  EXPECT_EQ(
      readRaw(DataType::fp32, {-1, -1, -1}, "x").message(),
      "[request id: <id_unknown>] The shape of the raw input 'INPUT0' can "
      "not be deduced because there are more than one variable-sized "
      "dimension");
  const std::string words =
      "[request id: <id_unknown>] For BYTE datatype raw input 'INPUT0', the "
      "model must have input shape [1]";
  EXPECT_EQ(readRaw(DataType::bytes, {-1, 2}, "x").message(), words);
  EXPECT_EQ(readRaw(DataType::bytes, {-1, -1}, "x").message(), words);
  const auto large =
      readRaw(DataType::uint8, {-1, -1}, std::string(mostInferBytes + 1, 'x'));
  EXPECT_EQ(large.message(),
            "Raw input has a byte_size (1048577 bytes) that exceeds the "
            "maximum allowed value of 1048576 bytes. Use --http-max-input-size "
            "to increase the limit.");
}

// ---- refusals

struct Case {
  std::string body;
  std::string refusal;
};

class Refusals : public testing::TestWithParam<Case> {};

TEST_P(Refusals, HaveTritonsText) {
  EXPECT_EQ(refusalOf(GetParam().body), GetParam().refusal) << GetParam().body;
}

std::string ofData(const std::string& datatype, const std::string& shape,
                   const std::string& data) {
  return withInput(R"("datatype":")" + datatype + R"(","shape":)" + shape +
                   R"(,"data":)" + data);
}

std::string nested(int depth, const std::string& value) {
  return std::string(size_t(depth), '[') + value +
         std::string(size_t(depth), ']');
}

const std::string missing = "attempt to access non-existing object member ";
const std::string sources =
    "400 Input must set only one of the following fields: 'data', "
    "'binary_data_size' in 'parameters', 'shared_memory_region' in "
    "'parameters'. But";

INSTANTIATE_TEST_SUITE_P(
    Json, Refusals,
    testing::Values(
        Case{"{", "500 failed to parse the request JSON buffer: Missing a name "
                  "for object member. at 1"},
        Case{" ", "500 failed to parse the request JSON buffer: The document "
                  "is empty. at 1"},
        Case{"{}x", "500 failed to parse the request JSON buffer: The document "
                    "root must not be followed by other values. at 2"},
        Case{"{\"a\":nul}", "500 failed to parse the request JSON buffer: "
                            "Invalid value. at 8"},
        Case{std::string(mostInferBytes + 1, ' '),
             "400 request JSON size of 1048577 bytes exceeds the maximum "
             "allowed input size of 1048576 bytes. Use --http-max-input-size "
             "to increase the limit."}));

INSTANTIATE_TEST_SUITE_P(
    Fields, Refusals,
    testing::Values(
        Case{"[]", "500 Unable to parse 'inputs': " + missing + "'inputs'"},
        Case{"{}", "500 Unable to parse 'inputs': " + missing + "'inputs'"},
        Case{R"({"inputs":3})", "500 Unable to parse 'inputs': attempt to "
                                "access JSON non-array as array"},
        Case{R"({"id":3,"inputs":[]})",
             "500 Unable to parse 'id': attempt to access JSON non-string as "
             "string"},
        Case{R"({"inputs":[{"data":[]}]})",
             "500 Unable to parse 'name': " + missing + "'name'"},
        Case{R"({"inputs":[{"name":"A","data":[]}]})",
             "500 Unable to parse 'datatype': " + missing + "'datatype'"},
        Case{R"({"inputs":[{"name":"A","datatype":"INT8","data":[]}]})",
             "500 Unable to parse 'shape': " + missing + "'shape'"},
        Case{R"({"inputs":[],"outputs":{}})",
             "500 Unable to parse 'outputs': attempt to access JSON non-array "
             "as array"},
        Case{R"({"inputs":[],"outputs":[{}]})",
             "500 Unable to parse 'name': " + missing + "'name'"},
        Case{R"({"inputs":[],"outputs":[{"name":"A","parameters":
                {"binary_data":1}}]})",
             "500 Unable to parse 'binary_data': attempt to access JSON "
             "non-boolean as boolean"},
        Case{R"({"inputs":[],"outputs":[{"name":"A","parameters":
                {"classification":-1}}]})",
             "500 Unable to set 'classification': attempt to access JSON "
             "non-unsigned-integer as unsigned-integer"},
        Case{R"({"id":"i","inputs":[],"outputs":[{"name":"A"},{"name":"A"}]})",
             "400 [request id: i] output 'A' already exists in request"},
        Case{R"({"inputs":[{"name":"A","datatype":"INT8","shape":[0],
                            "data":[]},
                           {"name":"A","datatype":"INT8","shape":[0],
                            "data":[]}]})",
             "400 [request id: <id_unknown>] input 'A' already exists in "
             "request"}));

INSTANTIATE_TEST_SUITE_P(
    Parameters, Refusals,
    testing::Values(
        Case{R"({"parameters":1,"inputs":[]})",
             "500 failed to get request params.: attempt to get members for "
             "non-object"},
        Case{R"({"parameters":{"priority":-1},"inputs":[]})",
             "500 Unable to parse 'priority': attempt to access JSON "
             "non-unsigned-integer as unsigned-integer"},
        Case{R"({"parameters":{"timeout":"1"},"inputs":[]})",
             "500 Unable to parse 'timeout': attempt to access JSON "
             "non-unsigned-integer as unsigned-integer"},
        Case{R"({"parameters":{"sequence_id":true},"inputs":[]})",
             "500 Unable to parse 'sequence_id': attempt to access JSON "
             "non-string as string"},
        Case{R"({"parameters":{"sequence_start":1},"inputs":[]})",
             "500 Unable to parse 'sequence_start': attempt to access JSON "
             "non-boolean as boolean"},
        Case{R"({"parameters":{"sequence_id":")" + std::string(129, 'a') +
                 R"("},"inputs":[]})",
             "501 string correlation ID cannot be longer than 128 characters"},
        Case{R"({"parameters":{"triton_x":1},"inputs":[]})",
             "400 parameter keys starting with 'triton_' are reserved for "
             "Triton usage and should not be specified."},
        Case{R"({"parameters":{"a":[1]},"inputs":[]})",
             "400 parameter 'a' has invalid type. It should be either 'int', "
             "'bool', or 'string'."}));

INSTANTIATE_TEST_SUITE_P(
    Data, Refusals,
    testing::Values(
        Case{ofData("INT32", "[1,4]", "[1,2,3]"),
             "500 Failed to parse 'data' field: shape does not match true "
             "shape"},
        Case{ofData("INT32", "[1,4]", "[1,2,3,4,5]"),
             "500 Unable to parse 'data': Shape does not match true shape of "
             "'data' field"},
        Case{ofData("INT32", "[1]", "[1.5]"),
             "500 Unable to parse 'data': attempt to access JSON "
             "non-signed-integer as signed-integer"},
        Case{ofData("UINT8", "[1]", "[-1]"),
             "500 Unable to parse 'data': attempt to access JSON "
             "non-unsigned-integer as unsigned-integer"},
        Case{ofData("UINT8", "[1]", "[256]"),
             "400 Unable to parse 'data': 256 is outside the range of the "
             "datatype"},
        Case{ofData("INT16", "[1]", "[-32769]"),
             "400 Unable to parse 'data': -32769 is outside the range of the "
             "datatype"},
        Case{ofData("BOOL", "[1]", "[1]"),
             "500 Unable to parse 'data': attempt to access JSON non-boolean "
             "as boolean"},
        Case{ofData("FP32", "[1]", R"(["a"])"),
             "500 Unable to parse 'data': attempt to access JSON non-number as "
             "double"},
        Case{ofData("BYTES", "[1]", "[1]"),
             "500 Unable to parse JSON bytes array: attempt to access JSON "
             "non-string as string"},
        Case{ofData("INT32", "[1]", "1"),
             "500 Unable to parse 'data': attempt to access JSON non-array as "
             "array"},
        Case{ofData("FP16", "[1]", "[1]"),
             "400 receiving FP16 data via JSON is not supported. Please use "
             "the binary data format for input INPUT0"},
        Case{ofData("BF16", "[1]", "[1]"),
             "400 receiving BF16 data via JSON is not supported. Please use "
             "the binary data format for input INPUT0"},
        Case{ofData("INT3", "[1]", "[1]"),
             "400 invalid datatype for input INPUT0"},
        Case{ofData("INT64", "[1]", nested(120, "1")),
             "400 Unable to parse 'data': JSON nesting depth exceeds maximum "
             "allowed limit (100)"},
        Case{ofData("BYTES", "[1]", nested(120, "\"a\"")),
             "400 JSON nesting depth exceeds maximum allowed limit (100)"},
        Case{ofData("INT64", "[2]", "[null]"),
             "500 Unable to parse 'data': attempt to access JSON "
             "non-signed-integer as signed-integer"},
        Case{ofData("INT64", "[2]", R"([{"a":[1,{"b":2}]},1])"),
             "500 Unable to parse 'data': attempt to access JSON "
             "non-signed-integer as signed-integer"},
        Case{ofData("INT64", "[2]", R"([1,"a"])"),
             "500 Unable to parse 'data': attempt to access JSON "
             "non-signed-integer as signed-integer"},
        Case{ofData("INT64", "[1]", "[1,\"a\"]"),
             "500 Unable to parse 'data': Shape does not match true shape of "
             "'data' field"},
        Case{ofData("BYTES", "[2]", R"(["a",[1]])"),
             "500 Unable to parse JSON bytes array: attempt to access JSON "
             "non-string as string"},
        Case{ofData("INT64", "[1]", nested(99, "1")), "accepted"},
        Case{ofData("INT64", "[1]", nested(100, "1")),
             "400 Unable to parse 'data': JSON nesting depth exceeds maximum "
             "allowed limit (100)"},
        Case{ofData("INT64", "[1]", nested(50, "1")), "accepted"},
        Case{ofData("BYTES", "[1]", nested(50, "\"a\"")), "accepted"}));

INSTANTIATE_TEST_SUITE_P(
    Sizes, Refusals,
    testing::Values(
        Case{ofData("FP32", "[2,-5]", "[1]"),
             "500 Unable to parse 'shape': attempt to access JSON "
             "non-unsigned-integer as unsigned-integer"},
        Case{ofData("FP32", "[18446744073709551611]", "[1]"),
             "400 invalid shape for input 'INPUT0': shape [-5] contains one or "
             "more invalid dimensions"},
        Case{ofData("FP32", "[16,1152921504606846978]", "[1]"),
             "400 invalid shape for input 'INPUT0': shape "
             "[16,1152921504606846978] causes total element count to exceed "
             "maximum size of 9223372036854775807"},
        Case{ofData("FP32", "[4,1152921504606846978]", "[1]"),
             "400 byte size overflow for input 'INPUT0': element count "
             "(4611686018427387912) * data type size (4) exceeds maximum "
             "allowed size (9223372036854775807)"},
        Case{ofData("FP32", "[262145]", "[1]"),
             "400 JSON input 'INPUT0' has a byte_size (1048580 bytes) that "
             "exceeds the maximum allowed value of 1048576 bytes. Use "
             "--http-max-input-size to increase the limit."}));

INSTANTIATE_TEST_SUITE_P(
    Sources, Refusals,
    testing::Values(
        Case{withInput(R"("datatype":"INT8","shape":[1])"),
             sources + " no field is set"},
        Case{withInput(R"("datatype":"INT8","shape":[1],"data":[1],
                          "parameters":{"binary_data_size":1,
                                        "shared_memory_region":"r"})"),
             sources + " set 'data' 'binary_data_size' "
                       "'shared_memory_region'"},
        Case{withInput(R"("datatype":"INT8","shape":[1],
                          "parameters":{"binary_data_size":"1"})"),
             "500 Unable to parse 'binary_data_size': attempt to access JSON "
             "non-unsigned-integer as unsigned-integer"},
        Case{withInput(R"("datatype":"INT8","shape":[1],
                          "parameters":{"shared_memory_region":"r"})"),
             "404 Unable to find shared memory region: 'r'"},
        Case{R"({"inputs":[],"outputs":[{"name":"A","parameters":
                {"shared_memory_region":"r","classification":1}}]})",
             "400 Output can't set both 'shared_memory_region' and "
             "'classification'"},
        Case{R"({"inputs":[],"outputs":[{"name":"A","parameters":
                {"shared_memory_region":"r","binary_data":true}}]})",
             "400 Output can't set both 'shared_memory_region' and "
             "'binary_data'"}));

TEST(InferBody, ElementsOfAllNumberTypesAreReals) {
  EXPECT_EQ(
      readValues<double>("FP64", "[-1,2,0.5,18446744073709551615]", "[4]"),
      std::vector<double>({-1, 2, 0.5, 18446744073709551615.0}));
}

TEST(InferBody, ValuesBesidesElementsAreLimited) {
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i)
    many += ",0";
  many += "]";
  EXPECT_EQ(readInferBody(simple, R"({"a":)" + many + "}", std::nullopt,
                          many.size() * 2)
                .message(),
            "the request JSON has more than 1000000 values besides the "
            "elements of tensors");
  const auto call = readInferBody(simple, ofData("INT8", "[1000001]", many),
                                  std::nullopt, many.size() * 2);
  ASSERT_TRUE(call) << call.message();
  EXPECT_EQ(call->request.inputs[0].data.size(), 1'000'001u);
}

TEST(InferBody, AnUnknownDatatypeOfABinaryTensorNamesTheModels) {
  const std::string json = withInput(R"("datatype":"INT3","shape":[1,4],
                                        "parameters":{"binary_data_size":16})");
  EXPECT_EQ(refusalOf(json + std::string(16, 'x'), json.size()),
            "400 [request id: <id_unknown>] inference input 'INPUT0' data-type "
            "is '<invalid>', but model 'simple' expects 'INT32'");
}

} // namespace
} // namespace reciperun::server
