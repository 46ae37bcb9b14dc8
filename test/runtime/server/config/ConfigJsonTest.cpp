// Configurations as JSON: of a request to load a model, and to a client.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace reciperun::server {
namespace {

using nlohmann::json;

json written(const std::string& text) {
  const auto read = parseModelConfig(text, "m", "config.pbtxt");
  EXPECT_TRUE(read) << read.message();
  if (!read)
    return {};
  const auto made = jsonOfConfig(*read->config);
  EXPECT_TRUE(made) << made.message();
  return made ? json::parse(*made) : json();
}

std::string jsonFailure(const std::string& text) {
  return readModelConfigJson(text, "m").message();
}

TEST(ConfigJson, NamesAndDefaultsArePrintedAndIntegersAreNumbers) {
  const json made = written(
      "backend: \"b\" max_batch_size: 8\n"
      "input { name: \"i\" data_type: TYPE_INT32 dims: [-1, 16] reshape { "
      "shape: [-1, 16] } }\n"
      "version_policy { specific { versions: [1, 3] } }\n"
      "dynamic_batching { max_queue_delay_microseconds: 5 priority_levels: 2 "
      "default_priority_level: 1 priority_queue_policy { key: 1 value { "
      "default_timeout_microseconds: 7 } } }\n"
      "parameters { key: \"p\" value { string_value: \"v\" } }\n");
  EXPECT_EQ(made["name"], "m");
  EXPECT_EQ(made["platform"], "");
  EXPECT_EQ(made["max_batch_size"], 8);
  EXPECT_EQ(made["input"][0]["data_type"], "TYPE_INT32");
  EXPECT_EQ(made["input"][0]["format"], "FORMAT_NONE");
  EXPECT_EQ(made["input"][0]["dims"], json({-1, 16}));
  EXPECT_EQ(made["input"][0]["reshape"]["shape"], json({-1, 16}));
  EXPECT_EQ(made["input"][0]["optional"], false);
  EXPECT_EQ(made["output"], json::array());
  EXPECT_EQ(made["version_policy"]["specific"]["versions"], json({1, 3}));
  const json& batching = made["dynamic_batching"];
  EXPECT_EQ(batching["max_queue_delay_microseconds"], 5);
  EXPECT_EQ(batching["priority_levels"], 2);
  EXPECT_EQ(batching["preferred_batch_size"], json({8}));
  EXPECT_EQ(
      batching["priority_queue_policy"]["1"]["default_timeout_microseconds"],
      7);
  EXPECT_EQ(made["instance_group"][0]["kind"], "KIND_CPU");
  EXPECT_FALSE(made["instance_group"][0].contains("rate_limiter"));
  EXPECT_EQ(made["optimization"]["input_pinned_memory"]["enable"], true);
  EXPECT_EQ(made["parameters"]["p"]["string_value"], "v");
  EXPECT_FALSE(made.contains("sequence_batching"));
}

TEST(ConfigJson, LongIntegersOfEveryMessageAreNumbers) {
  const json sequences = written(
      "backend: \"b\" sequence_batching { direct {} state { input_name: \"s\" "
      "output_name: \"t\" data_type: TYPE_FP32 dims: [2] initial_state { name: "
      "\"n\" data_type: TYPE_FP32 dims: [2] zero_data: true } } }\n"
      "model_warmup { name: \"w\" inputs { key: \"i\" value { dims: [3] } } "
      "}\n");
  const json& batching = sequences["sequence_batching"];
  EXPECT_EQ(batching["max_sequence_idle_microseconds"], 1'000'000);
  EXPECT_EQ(batching["direct"]["max_queue_delay_microseconds"], 0);
  EXPECT_EQ(batching["state"][0]["dims"], json({2}));
  EXPECT_EQ(batching["state"][0]["initial_state"][0]["dims"], json({2}));
  EXPECT_EQ(sequences["model_warmup"][0]["inputs"]["i"]["dims"], json({3}));
}

TEST(ConfigJson, WhatIsWrittenCanBeLoaded) {
  const auto read = parseModelConfig(
      "backend: \"b\" max_batch_size: 4 dynamic_batching {}\n"
      "output { name: \"o\" data_type: TYPE_STRING dims: [9007199254740993] }\n"
      "parameters { key: \"p\" value { string_value: \"v\" } }\n",
      "m", "config.pbtxt");
  ASSERT_TRUE(read) << read.message();
  const auto text = jsonOfConfig(*read->config);
  ASSERT_TRUE(text) << text.message();
  const auto again = readModelConfigJson(*text, "m");
  ASSERT_TRUE(again) << again.message();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
      *read->config, *again->config));
}

TEST(ConfigJson, TakesWhatTritonsClientsSend) {
  // Of Triton's clients: enums in lower case, integers as texts, names in camel
  // case.
  const auto read = readModelConfigJson(
      R"({"backend":"b","maxBatchSize":4,"input":[{"name":"i",)"
      R"("data_type":"type_fp32","dims":["16",-1]}]})",
      "m");
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->config->max_batch_size(), 4);
  EXPECT_EQ(read->config->input(0).data_type(), inference::TYPE_FP32);
  EXPECT_EQ(read->config->input(0).dims(0), 16);
}

TEST(ConfigJson, MistakesAreInvalidOverrides) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "Invalid config override: "},
      {"[]", "Invalid config override: the text must be a JSON object"},
      {R"({"backend":"b","backend":"c"})", "Invalid config override: "},
      {R"({"backend":"b","max_batch":1,"input":[{"dim":[1]}]})",
       "Invalid config override: unknown field `dim` of `ModelInput`; did you "
       "mean `dims`?\nunknown field `max_batch` of `ModelConfig`; did you mean "
       "`max_batch_size`?"},
      {R"({"backend":"b","parameters":{"p":{"value":"1"}}})",
       "unknown field `value` of `ModelParameter`; did you mean"},
      {R"({"max_batch_size":"many"})", "Invalid config override: "},
      {R"({"backend":"b","max_batch_size":-1})",
       "'max_batch_size' must be non-negative value for m (`max_batch_size`)"},
      {R"({"name":"n","backend":"b"})",
       "unexpected directory name 'm' for model 'n'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_NE(jsonFailure(text).find(message), std::string::npos)
        << text << "\n"
        << jsonFailure(text);
    EXPECT_EQ(readModelConfigJson(text, "m").status().code(),
              StatusCode::invalidArgument);
  }
}

TEST(ConfigJson, SizeAndDepthAreLimited) {
  EXPECT_NE(jsonFailure(std::string(size_t(5) << 20, ' ')), "");
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += "{\"input\":[";
  EXPECT_NE(jsonFailure(deep).find("Invalid config override: "),
            std::string::npos);
}

} // namespace
} // namespace reciperun::server
