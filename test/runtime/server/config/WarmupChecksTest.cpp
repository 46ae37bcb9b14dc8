// The mistakes of `model_warmup`.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

#include <string>

namespace reciperun::server {
namespace {

std::string warmupInput(const std::string& name, const std::string& body) {
  return "inputs { key: \"" + name + "\" value { " + body + " } }\n";
}

const std::string whole =
    warmupInput("i", "data_type: TYPE_FP32 dims: [4, 2] zero_data: true");

/// Why a model with a warm-up fails, which is at line 6.
std::string warmupFailure(const std::string& warmup,
                          const std::string& more = "") {
  const auto read = parseModelConfig(
      "backend: \"b\" max_batch_size: 8\n"
      "input { name: \"i\" data_type: TYPE_FP32 dims: [4, -1] }\n"
      "input { name: \"j\" data_type: TYPE_STRING dims: 1 optional: true }\n"
      "output { name: \"o\" data_type: TYPE_FP32 dims: [4] }\n" +
          more + "\nmodel_warmup { " + warmup + " }",
      "m", "config.pbtxt");
  return read.message();
}

TEST(WarmupChecks, InputsFitThoseOfTheModel) {
  const std::string size = "batch_size: 2 name: \"w\"\n";
  const std::string place = " (config.pbtxt:7:1: `model_warmup[0].inputs`)";
  const std::string begin = "warmup setting ";
  const struct {
    std::string inputs;
    std::string expected;
  } cases[] = {
      {whole, ""},
      {whole + warmupInput("j", "data_type: TYPE_STRING dims: 1 random_data: "
                                "false"),
       ""},
      {whole + warmupInput("k", "data_type: TYPE_FP32 dims: 1 zero_data: true"),
       "has unknown input 'k'"},
      {warmupInput("j", "data_type: TYPE_STRING dims: 1 zero_data: true"),
       "lacks input 'i'"},
      {warmupInput("i", "dims: [4, 2] zero_data: true"),
       "must specify 'data_type' for input 'i'"},
      {warmupInput("i", "data_type: TYPE_FP16 dims: [4, 2] zero_data: true"),
       "expects input 'i' to have data type TYPE_FP32, got TYPE_FP16"},
      {warmupInput("i", "data_type: TYPE_FP32 dims: [4, -1] zero_data: true"),
       "expects all variable-size dimensions are specified for input 'i'"},
      {warmupInput("i", "data_type: TYPE_FP32 dims: [5, 2] zero_data: true"),
       "expects input 'i' to have dims [4,-1], got [5,2]"},
      {warmupInput("i", "data_type: TYPE_FP32 dims: [2, 4, 2] zero_data: true"),
       "expects input 'i' to have dims [4,-1], got [2,4,2]"},
      {warmupInput("i", "data_type: TYPE_FP32 dims: [4, 2]"),
       "expects input 'i' to have input_data_type set"},
  };
  for (const auto& [inputs, expected] : cases)
    EXPECT_EQ(warmupFailure(size + inputs),
              expected.empty() ? "" : begin + expected + place)
        << inputs;
}

TEST(WarmupChecks, EachMistakeIsReported) {
  EXPECT_EQ(warmupFailure("batch_size: 1\n" +
                          warmupInput("i", "data_type: TYPE_FP16 dims: 4") +
                          warmupInput("k", "")),
            "warmup setting expects input 'i' to have data type TYPE_FP32, got "
            "TYPE_FP16 (config.pbtxt:7:1: `model_warmup[0].inputs`)\n"
            "warmup setting expects input 'i' to have dims [4,-1], got [4] "
            "(config.pbtxt:7:1: `model_warmup[0].inputs`)\n"
            "warmup setting expects input 'i' to have input_data_type set "
            "(config.pbtxt:7:1: `model_warmup[0].inputs`)\n"
            "warmup setting has unknown input 'k' (config.pbtxt:7:1: "
            "`model_warmup[0].inputs`)");
}

TEST(WarmupChecks, SizesAreLimited) {
  EXPECT_EQ(warmupFailure("name: \"w\" batch_size: 9 " + whole),
            "model warmup 'w' must have a batch size of at most 8 and a count "
            "of at most 1024 for m (config.pbtxt:6:16: `model_warmup[0]`)");
  EXPECT_NE(warmupFailure("batch_size: 1 count: 1025 " + whole), "");
  std::string all;
  for (int i = 0; i < 1024; ++i)
    all += "model_warmup {} ";
  EXPECT_EQ(warmupFailure("", all),
            "at most 1024 `model_warmup`s are allowed for m (config.pbtxt:5:1: "
            "`model_warmup`)");
}

TEST(WarmupChecks, WithoutABatchSizeASettingIsNotUsed) {
  EXPECT_EQ(warmupFailure(warmupInput("k", "")), "");
}

TEST(WarmupChecks, SequenceBatchingAddsInputs) {
  const std::string sequences =
      "sequence_batching { state { input_name: \"s\" output_name: \"t\" "
      "data_type: TYPE_INT32 dims: 1 } control_input { name: \"START\" control "
      "{ kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } } }";
  const std::string state =
      warmupInput("s", "data_type: TYPE_INT32 dims: 1 zero_data: true");
  const std::string control =
      warmupInput("START", "data_type: TYPE_INT32 dims: 1 zero_data: true");
  const std::string size = "batch_size: 1\n";
  EXPECT_EQ(warmupFailure(size + whole + state, sequences), "");
  EXPECT_EQ(warmupFailure(size + whole + state + control, sequences), "");
  EXPECT_EQ(warmupFailure(size + whole + control, sequences),
            "warmup setting lacks input 's' (config.pbtxt:7:1: "
            "`model_warmup[0].inputs`)");
}

} // namespace
} // namespace reciperun::server
