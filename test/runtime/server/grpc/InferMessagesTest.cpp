// Requests of inference are read as Triton reads them, with its messages, and
// responses are written with raw contents.

#include "runtime/server/grpc/InferMessages.h"
#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

using Request = inference::ModelInferRequest;

/// A request of model M with one input IN of some datatype, without data.
Request requestOf(const std::string& datatype) {
  Request request;
  request.set_model_name("M");
  auto& input = *request.add_inputs();
  input.set_name("IN");
  input.set_datatype(datatype);
  input.add_shape(2);
  return request;
}

inference::InferTensorContents& contentsOf(Request& request) {
  return *request.mutable_inputs(0)->mutable_contents();
}

inference::InferParameter& parameterOf(Request& request,
                                       const std::string& name) {
  return (*request.mutable_parameters())[name];
}

std::string
failureOf(const Request& request,
          reciperun::StatusCode code = reciperun::StatusCode::invalidArgument) {
  const auto read = readRequest(request);
  if (read)
    return "it is read";
  EXPECT_EQ(read.status().code(), code);
  return read.message();
}

template <class T> std::string bytesOfAll(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()),
          elements.size() * sizeof(T)};
}

std::string dataOf(const Request& request) {
  const auto read = readRequest(request);
  EXPECT_TRUE(read) << read.message();
  return read ? read->request.inputs.at(0).data : "";
}

TEST(InferMessages, readsContentsOfEachDatatype) {
  Request request = requestOf("INT8");
  contentsOf(request).add_int_contents(-128);
  contentsOf(request).add_int_contents(127);
  EXPECT_EQ(dataOf(request), bytesOfAll<int8_t>({-128, 127}));
  request.mutable_inputs(0)->set_datatype("INT16");
  EXPECT_EQ(dataOf(request), bytesOfAll<int16_t>({-128, 127}));
  request.mutable_inputs(0)->set_datatype("INT32");
  EXPECT_EQ(dataOf(request), bytesOfAll<int32_t>({-128, 127}));

  request = requestOf("UINT8");
  contentsOf(request).add_uint_contents(255);
  EXPECT_EQ(dataOf(request), "\xff");
  request.mutable_inputs(0)->set_datatype("UINT16");
  EXPECT_EQ(dataOf(request), bytesOfAll<uint16_t>({255}));
  request.mutable_inputs(0)->set_datatype("UINT32");
  EXPECT_EQ(dataOf(request), bytesOfAll<uint32_t>({255}));

  request = requestOf("INT64");
  contentsOf(request).add_int64_contents(int64_t(1) << 40);
  EXPECT_EQ(dataOf(request), bytesOfAll<int64_t>({int64_t(1) << 40}));
  request = requestOf("UINT64");
  contentsOf(request).add_uint64_contents(uint64_t(1) << 63);
  EXPECT_EQ(dataOf(request), bytesOfAll<uint64_t>({uint64_t(1) << 63}));
  request = requestOf("FP32");
  contentsOf(request).add_fp32_contents(0.5f);
  EXPECT_EQ(dataOf(request), bytesOfAll<float>({0.5f}));
  request = requestOf("FP64");
  contentsOf(request).add_fp64_contents(0.25);
  EXPECT_EQ(dataOf(request), bytesOfAll<double>({0.25}));
  request = requestOf("BOOL");
  contentsOf(request).add_bool_contents(true);
  contentsOf(request).add_bool_contents(false);
  EXPECT_EQ(dataOf(request), std::string("\x01\x00", 2));
  request = requestOf("BYTES");
  contentsOf(request).add_bytes_contents("abc");
  contentsOf(request).add_bytes_contents("");
  EXPECT_EQ(dataOf(request), std::string("\3\0\0\0abc\0\0\0\0", 11));
}

TEST(InferMessages, readsNoElements) {
  Request request = requestOf("FP32");
  contentsOf(request);
  EXPECT_EQ(dataOf(request), "");
}

TEST(InferMessages, refusesContentsOfAnotherDatatype) {
  Request request = requestOf("FP16");
  contentsOf(request).add_fp32_contents(1);
  EXPECT_EQ(failureOf(request),
            "unexpected explicit tensor data for input tensor 'IN' for model "
            "'M' of type 'FP32', expected datatype 'FP16'");
  request.mutable_inputs(0)->set_datatype("FP31");
  EXPECT_EQ(failureOf(request),
            "unexpected explicit tensor data for input tensor 'IN' for model "
            "'M' of type 'FP32', expected datatype '<invalid>'");
  request = requestOf("INT32");
  contentsOf(request).add_int_contents(1);
  contentsOf(request).add_fp32_contents(1);
  EXPECT_EQ(failureOf(request),
            "unexpected explicit tensor data for input tensor 'IN' for model "
            "'M', binary data was already supplied.");
  request = requestOf("INT8");
  contentsOf(request).add_int_contents(128);
  EXPECT_EQ(failureOf(request), "value 128 of input tensor 'IN' for model 'M' "
                                "is out of the range of INT8");
}

TEST(InferMessages, readsRawContentsInTheOrderOfInputs) {
  Request request = requestOf("FP16");
  auto& second = *request.add_inputs();
  second.set_name("TOO");
  second.set_datatype("BF16");
  request.add_raw_input_contents("ab");
  request.add_raw_input_contents("cd");
  const auto copied = readRequest(request);
  ASSERT_TRUE(copied) << copied.message();
  const auto moved = readRequest(std::move(request));
  ASSERT_TRUE(moved) << moved.message();
  for (const auto* read : {&*copied, &*moved}) {
    const auto& inputs = read->request.inputs;
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_EQ(inputs[0].data, "ab");
    EXPECT_EQ(inputs[0].shape, std::vector<int64_t>{2});
    EXPECT_EQ(inputs[1].name, "TOO");
    EXPECT_EQ(inputs[1].type, DataType::bf16);
    EXPECT_EQ(inputs[1].data, "cd");
  }
}

TEST(InferMessages, refusesDataThatIsMissingOrGivenTwice) {
  Request request = requestOf("INT32");
  EXPECT_EQ(failureOf(request), "unable to find data for input tensor 'IN' for "
                                "model 'M' in request.");
  request.add_raw_input_contents("abcd");
  request.add_raw_input_contents("abcd");
  EXPECT_EQ(failureOf(request),
            "unexpected additional input data for model 'M'");
  contentsOf(request);
  EXPECT_EQ(failureOf(request),
            "contents field must not be specified when using "
            "raw_input_contents for 'IN' for model 'M'");
}

TEST(InferMessages, refusesNamesThatAreGivenTwice) {
  Request request = requestOf("INT32");
  *request.add_inputs() = request.inputs(0);
  EXPECT_EQ(failureOf(request), "[request id: <id_unknown>] input 'IN' already "
                                "exists in request");
  request = requestOf("INT32");
  request.set_id("seven");
  request.add_outputs()->set_name("O");
  request.add_outputs()->set_name("O");
  EXPECT_EQ(failureOf(request),
            "[request id: seven] output 'O' already exists in request");
}

TEST(InferMessages, refusesSharedMemory) {
  Request request = requestOf("INT32");
  auto& parameters = *request.mutable_inputs(0)->mutable_parameters();
  parameters["shared_memory_offset"].set_int64_param(4);
  EXPECT_EQ(failureOf(request),
            "'shared_memory_offset' can not be specified without "
            "'shared_memory_region' parameter for tensor 'IN'");
  parameters["shared_memory_region"].set_int64_param(4);
  EXPECT_EQ(failureOf(request),
            "invalid value type for 'shared_memory_region' parameter for "
            "tensor 'IN', expected string_param.");
  parameters["shared_memory_region"].set_string_param("r");
  EXPECT_EQ(failureOf(request, reciperun::StatusCode::notFound),
            "Unable to find shared memory region: 'r'");
}

TEST(InferMessages, readsReservedAndOtherParameters) {
  Request request = requestOf("INT32");
  request.set_id("seven");
  request.set_model_version("3");
  contentsOf(request);
  parameterOf(request, "sequence_id").set_int64_param(5);
  parameterOf(request, "sequence_start").set_bool_param(true);
  parameterOf(request, "sequence_end").set_bool_param(true);
  parameterOf(request, "priority").set_uint64_param(2);
  parameterOf(request, "timeout").set_int64_param(1000);
  parameterOf(request, "triton_enable_empty_final_response")
      .set_bool_param(true);
  parameterOf(request, "flag").set_bool_param(true);
  parameterOf(request, "number").set_double_param(0.5);
  parameterOf(request, "text").set_string_param("x");
  parameterOf(request, "integer").set_int64_param(-1);
  request.add_outputs()->set_name("O");
  auto& classes = *request.add_outputs();
  classes.set_name("P");
  (*classes.mutable_parameters())["classification"].set_int64_param(3);

  const auto read = readRequest(request);
  ASSERT_TRUE(read) << read.message();
  EXPECT_TRUE(read->wantsEmptyFinal);
  const InferRequest& got = read->request;
  EXPECT_EQ(got.model, "M");
  EXPECT_EQ(got.version, 3);
  EXPECT_EQ(got.id, "seven");
  EXPECT_EQ(got.sequence, SequenceId(uint64_t(5)));
  EXPECT_TRUE(got.isSequenceStart);
  EXPECT_TRUE(got.isSequenceEnd);
  EXPECT_EQ(got.priority, 2u);
  EXPECT_EQ(got.timeoutMicroseconds, 1000u);
  const Parameters others = {{"flag", true},
                             {"number", 0.5},
                             {"text", std::string("x")},
                             {"integer", int64_t(-1)}};
  EXPECT_EQ(got.parameters, others);
  ASSERT_EQ(got.outputs.size(), 2u);
  EXPECT_EQ(got.outputs[0].classes, 0);
  EXPECT_EQ(got.outputs[1].name, "P");
  EXPECT_EQ(got.outputs[1].classes, 3);

  parameterOf(request, "sequence_id").set_string_param("five");
  const auto named = readRequest(request);
  ASSERT_TRUE(named) << named.message();
  EXPECT_EQ(named->request.sequence, SequenceId(std::string("five")));
}

TEST(InferMessages, refusesParametersOfAWrongType) {
  using Set = void (*)(inference::InferParameter&);
  const Set number = [](inference::InferParameter& p) {
    p.set_double_param(1);
  };
  const Set negative = [](inference::InferParameter& p) {
    p.set_int64_param(-1);
  };
  const Set natural = [](inference::InferParameter& p) {
    p.set_uint64_param(1);
  };
  const struct {
    const char* name;
    Set set;
    const char* failure;
  } cases[] = {
      {"sequence_id", number,
       "invalid value type for 'sequence_id' parameter, expected int64_param "
       "or string_param."},
      {"sequence_start", number,
       "invalid value type for 'sequence_start' parameter, expected "
       "bool_param."},
      {"sequence_end", number,
       "invalid value type for 'sequence_end' parameter, expected "
       "bool_param."},
      {"priority", number,
       "invalid value type for 'priority' parameter, expected int64_param or "
       "uint64_param."},
      {"priority", negative,
       "invalid value for 'priority', expected value >= 0."},
      {"timeout", number,
       "invalid value type for 'timeout' parameter, expected int64_param."},
      {"timeout", negative,
       "invalid value for 'timeout', expected value >= 0."},
      {"triton_enable_empty_final_response", number,
       "invalid value type for 'triton_enable_empty_final_response' "
       "parameter, expected bool_param."},
      {"triton_other", number,
       "parameter keys starting with 'triton_' are reserved for Triton usage. "
       "Only the following keys starting with 'triton_' are allowed: "
       "triton_enable_empty_final_response"},
      {"other", natural,
       "invalid value type for 'other' parameter, expected int64_param, "
       "bool_param, or string_param."}};
  for (const auto& each : cases) {
    Request request = requestOf("INT32");
    contentsOf(request);
    each.set(parameterOf(request, each.name));
    EXPECT_EQ(failureOf(request), each.failure);
  }
}

TEST(InferMessages, refusesParametersOfOutputs) {
  Request request = requestOf("INT32");
  contentsOf(request);
  auto& output = *request.add_outputs();
  output.set_name("O");
  auto& classes = (*output.mutable_parameters())["classification"];
  classes.set_string_param("3");
  EXPECT_EQ(failureOf(request), "invalid value type for 'classification' "
                                "parameter, expected int64_param");
  classes.set_int64_param(0);
  EXPECT_EQ(failureOf(request),
            "invalid value for 'classification' parameter, expected >= 0");
  (*output.mutable_parameters())["shared_memory_region"].set_string_param("r");
  EXPECT_EQ(failureOf(request, reciperun::StatusCode::notFound),
            "Unable to find shared memory region: 'r'");
}

TEST(InferMessages, readsVersions) {
  EXPECT_EQ(*readVersion(""), -1);
  EXPECT_EQ(*readVersion("0"), 0);
  EXPECT_EQ(*readVersion("12"), 12);
  EXPECT_EQ(readVersion("x").message(),
            "failed to get model version from specified version string 'x' "
            "(details: stol), version should be an integral value > 0");
  EXPECT_EQ(readVersion("99999999999999999999").message(),
            "failed to get model version from specified version string "
            "'99999999999999999999' (details: stol), version should be an "
            "integral value > 0");
  EXPECT_EQ(readVersion("-2").message(),
            "invalid model version specified '-2' , version should be an "
            "integral value > 0");
}

TEST(InferMessages, namesTheTypeThatAModelExpects) {
  Request request = requestOf("INT31");
  request.add_raw_input_contents("abcd");
  request.set_id("seven");
  const auto read = readRequest(request);
  ASSERT_TRUE(read) << read.message();
  inference::ModelConfig model;
  model.set_name("M");
  EXPECT_EQ(checkTypes(*read, model).message(),
            "[request id: seven] unexpected inference input 'IN' for model "
            "'M'");
  auto& input = *model.add_input();
  input.set_name("IN");
  input.set_data_type(inference::TYPE_INT32);
  const Status wrong = checkTypes(*read, model);
  EXPECT_EQ(wrong.message(), "[request id: seven] inference input 'IN' "
                             "data-type is '<invalid>', but model 'M' expects "
                             "'INT32'");
  EXPECT_EQ(wrong.code(), reciperun::StatusCode::invalidArgument);
}

TEST(InferMessages, writesRawContentsAndParameters) {
  inference::ModelInferResponse message;
  const Status written =
      writeResponse({.model = "M",
                     .version = "4",
                     .id = "seven",
                     .parameters = {{"flag", true},
                                    {"integer", int64_t(-1)},
                                    {"natural", uint64_t(1)},
                                    {"number", 0.5},
                                    {"text", std::string("x")}},
                     .outputs = {{"A", DataType::int32, {1, 2}, "12345678"},
                                 {"B", DataType::bytes, {1}, ""}}},
                    message);
  ASSERT_TRUE(written.isOk()) << written.message();
  EXPECT_EQ(message.model_name(), "M");
  EXPECT_EQ(message.model_version(), "4");
  EXPECT_EQ(message.id(), "seven");
  ASSERT_EQ(message.outputs_size(), 2);
  EXPECT_EQ(message.outputs(0).name(), "A");
  EXPECT_EQ(message.outputs(0).datatype(), "INT32");
  EXPECT_EQ(message.outputs(0).shape(1), 2);
  EXPECT_FALSE(message.outputs(0).has_contents());
  ASSERT_EQ(message.raw_output_contents_size(), 2);
  EXPECT_EQ(message.raw_output_contents(0), "12345678");
  EXPECT_EQ(message.raw_output_contents(1), "");
  EXPECT_TRUE(message.parameters().at("flag").bool_param());
  EXPECT_EQ(message.parameters().at("integer").int64_param(), -1);
  EXPECT_EQ(message.parameters().at("natural").uint64_param(), 1u);
  EXPECT_EQ(message.parameters().at("number").double_param(), 0.5);
  EXPECT_EQ(message.parameters().at("text").string_param(), "x");
}

} // namespace
} // namespace reciperun::server
