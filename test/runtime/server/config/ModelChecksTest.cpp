// The mistakes of a configuration by itself, in Triton's words.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

#include <regex>

namespace reciperun::server {
namespace {

const ServerGpus twoGpus = std::set<int32_t>{0, 1};

/// The mistakes with lines and without columns.
std::string failure(const std::string& text,
                    const ServerGpus& gpus = std::nullopt) {
  const auto read = parseModelConfig(text, "m", "config.pbtxt", gpus);
  EXPECT_TRUE(read || read.status().code() == StatusCode::invalidArgument);
  static const std::regex place("(config.pbtxt:[0-9]+):[0-9]+");
  return std::regex_replace(read.message(), place, "$1");
}

/// Expects the failure of `body` in a model with a backend to be `expected`.
struct Case {
  std::string body;
  std::string expected;
};

void expectAll(const std::vector<Case>& cases,
               const ServerGpus& gpus = std::nullopt) {
  for (const Case& each : cases)
    EXPECT_EQ(failure("backend: \"b\"\nmax_batch_size: 8\n" + each.body, gpus),
              each.expected)
        << each.body;
}

const std::string input =
    "input { name: \"i\" data_type: TYPE_FP32 dims: [4] }\n";
const std::string output =
    "output { name: \"o\" data_type: TYPE_FP32 dims: [4] }\n";

TEST(ModelChecks, BackendAndPlatform) {
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"", "must specify 'platform' or 'backend' for 'm' (config.pbtxt: "
           "`backend`)"},
      {"platform: \"onnxruntim\"", "unexpected platform type 'onnxruntim' for "
                                   "m (config.pbtxt:1: `platform`)"},
      {"platform: \"onnxruntim\" backend: \"onnxruntime\"",
       "unexpected 'platform' and 'backend' pair, got:onnxruntim, onnxruntime "
       "(config.pbtxt:1: `platform`)"},
      {"name: \"n\" backend: \"b\"",
       "unexpected directory name 'm' for model 'n', directory name must equal "
       "model name (config.pbtxt:1: `name`)"},
      {"backend: \"b\" max_batch_size: -1",
       "'max_batch_size' must be non-negative value for m (config.pbtxt:1: "
       "`max_batch_size`)"},
      {"backend: \"b\" max_batch_size: 2000000000",
       "'max_batch_size' must be at most 1048576 for m (config.pbtxt:1: "
       "`max_batch_size`)"},
      {"platform: \"onnxruntime_onnx\"", ""},
      {"platform: \"add_sub\"", ""},
      {"backend: \"anything\" platform: \"else\"", ""},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(failure(text), expected) << text;
}

TEST(ModelChecks, Tensors) {
  expectAll({
      {"input { data_type: TYPE_FP32 dims: 1 }",
       "model input must specify 'name' for m (config.pbtxt:3: `input[0]`)"},
      {"output { name: \"o\" dims: 1 }",
       "model output 'o' must specify 'data_type' for m (config.pbtxt:3: "
       "`output[0].data_type`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 }",
       "model input 'i' must specify 'dims' for m (config.pbtxt:3: "
       "`input[0].dims`)"},
      {"input { name: \"i\" data_type: TYPE_FP32\n dims: [0] }",
       "model input 'i' dimension must be integer >= 1, or -1 to indicate a "
       "variable-size dimension for m (config.pbtxt:4: `input[0].dims`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: 1 reshape { shape: 0 } "
       "}",
       "model input 'i' reshape dimensions must be integer >= 1, or -1 to "
       "indicate a variable-size dimension for m (config.pbtxt:3: "
       "`input[0].reshape`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: [2] reshape {} }",
       "model input 'i' has different size for dims and reshape for m "
       "(config.pbtxt:3: `input[0].reshape`)"},
      {"output { name: \"o\" data_type: TYPE_FP32 dims: [2, -1, 3] reshape { "
       "shape: [-1, 6] } }",
       "model output 'o' has different size for dims and reshape for m "
       "(config.pbtxt:3: `output[0].reshape`)"},
      {"output { name: \"o\" data_type: TYPE_FP32 dims: [-1, -1] reshape { "
       "shape: [-1] } }",
       "model output 'o' has different number of variable-size dimensions for "
       "dims and reshape for m (config.pbtxt:3: `output[0].reshape`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: 1 format: FORMAT_NCHW }",
       "model input NHWC/NCHW require 3 dims for m (config.pbtxt:3: "
       "`input[0].format`)"},
      {"output { name: \"i\" data_type: TYPE_FP32 dims: 1 is_shape_tensor: "
       "true "
       "}",
       "shape tensors are only supported for TensorRT platform for m "
       "(config.pbtxt:3: `output[0].is_shape_tensor`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: 1 "
       "is_non_linear_format_io: true }",
       "Non-linear IO format is only supported for the TensorRT platform for m "
       "(config.pbtxt:3: `input[0].is_non_linear_format_io`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: [4] }\n"
       "input { name: \"i\" data_type: TYPE_FP32 dims: [5] }",
       "model input 'i' is declared twice with different fields for m "
       "(config.pbtxt:4: `input[1]`)"},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: [1, 1] reshape {} }",
       ""},
      {"input { name: \"i\" data_type: TYPE_FP32 dims: [2, -1, 3] reshape { "
       "shape: [1, 2, -1, 3] } }",
       ""},
  });
}

TEST(ModelChecks, DimensionsDoNotOverflow) {
  expectAll({{"input { name: \"i\" data_type: TYPE_FP32 dims: "
              "[9223372036854775807, 9223372036854775807, 2] reshape { shape: "
              "[9223372036854775807, 2, 9223372036854775807] } }",
              ""},
             {"input { name: \"i\" data_type: TYPE_FP32 dims: "
              "[9223372036854775807, 2] reshape { shape: [-1] } }",
              "model input 'i' has different size for dims and reshape for m "
              "(config.pbtxt:3: `input[0].reshape`)"}});
}

TEST(ModelChecks, AnEmptyReshapeNeedsABatchDimension) {
  std::string text = "backend: \"b\"\n";
  for (const char* name : {"i", "j"})
    text += std::string("input { name: \"") + name +
            "\" data_type: TYPE_FP32 dims: 1 reshape {} }\n";
  EXPECT_EQ(failure(text),
            "model input 'i' cannot have empty reshape for non-batching model "
            "as scalar tensors are not supported for m (config.pbtxt:2: "
            "`input[0].reshape`)");
}

TEST(ModelChecks, BatchInputsAndOutputs) {
  expectAll({
      {input +
           "batch_input { kind: BATCH_ELEMENT_COUNT data_type: TYPE_INT32 }",
       "batch input kind 'BATCH_ELEMENT_COUNT' expects 1 source input, got 0 "
       "for m (config.pbtxt:4: `batch_input[0].source_input`)"},
      {input + "batch_input { data_type: TYPE_INT64 source_input: \"i\" }",
       "batch input data type must be TYPE_INT32 or TYPE_FP32 for m "
       "(config.pbtxt:4: `batch_input[0].data_type`)"},
      {input + "batch_input { data_type: TYPE_INT32 source_input: \"x\" }",
       "unknown source input name 'x' for m (config.pbtxt:4: "
       "`batch_input[0].source_input`)"},
      {input + output + "batch_output { source_input: [\"i\", \"i\"] }",
       "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source "
       "input, got 2 for m (config.pbtxt:5: "
       "`batch_output[0].source_input`)"},
      {input + output +
           "batch_output { source_input: \"i\" target_name: \"x\" }",
       "unknown target output name 'x' for m (config.pbtxt:5: "
       "`batch_output[0].target_name`)"},
      {input + output +
           "batch_output { source_input: \"i\" target_name: [\"o\", \"o\"] }",
       "target output name 'o' can only be specified once for m "
       "(config.pbtxt:5: `batch_output[0].target_name`)"},
  });
}

TEST(ModelChecks, DynamicBatching) {
  const auto in = [](const std::string& body) {
    return "dynamic_batching {\n" + body + "\n}";
  };
  const std::string levels = "priority_levels: 3 ";
  const std::string delay =
      "{ timeout_action: DELAY default_timeout_microseconds: 1 }";
  const std::string order = "preserve_ordering: true\n";
  const std::string noDelay =
      "Queue policy can not have DELAY as timeout action when "
      "'preserve_ordering' is true for m (config.pbtxt:5: "
      "`dynamic_batching.";
  expectAll({
      {in("preferred_batch_size: [4, 0]"),
       "dynamic batching preferred size must be positive for m "
       "(config.pbtxt:4: `dynamic_batching.preferred_batch_size`)"},
      {in("preferred_batch_size: [4, 9]"),
       "dynamic batching preferred size must be <= max batch size for m "
       "(config.pbtxt:4: `dynamic_batching.preferred_batch_size`)"},
      {in(levels),
       "default priority level must be in range [1, 3] for m "
       "(config.pbtxt:3: `dynamic_batching.default_priority_level`)"},
      {in(levels + "default_priority_level: 4"),
       "default priority level must be in range [1, 3] for m "
       "(config.pbtxt:4: `dynamic_batching.default_priority_level`)"},
      {in(levels + "default_priority_level: 1 priority_queue_policy { key: 0 "
                   "value {} }"),
       "priority queue policy must have priority level in range [1, 3] for m "
       "(config.pbtxt:4: `dynamic_batching.priority_queue_policy`)"},
      {in("priority_levels: 18446744073709551615 default_priority_level: 1"),
       "priority levels must be at most 1024 for m (config.pbtxt:4: "
       "`dynamic_batching.priority_levels`)"},
      {in(order + levels + "default_priority_level: 1"),
       "Only one priority level is allowed when 'preserve_ordering' is true "
       "for m (config.pbtxt:5: `dynamic_batching.priority_levels`)"},
      {in(order + "default_queue_policy " + delay),
       noDelay + "default_queue_policy`)"},
      {in(order + "priority_queue_policy { key: 1 value " + delay +
          " } priority_levels: 1 default_priority_level: 1"),
       noDelay + "priority_queue_policy`)"},
      {in(order + "default_queue_policy { timeout_action: DELAY }"), ""},
  });
}

TEST(ModelChecks, SequenceBatching) {
  const auto control = [](const std::string& body) {
    return "sequence_batching { control_input {\n" + body + "\n} }";
  };
  const std::string none =
      "sequence batching must specify either 'int32_false_true', "
      "'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_READY for "
      "m (config.pbtxt:4: `sequence_batching.control_input[0].control[0]`)";
  expectAll({
      {control("control {}"),
       "sequence batching control tensor must have a name for m "
       "(config.pbtxt:4: `sequence_batching.control_input[0]`)"},
      {control("name: \"c\" control { kind: CONTROL_SEQUENCE_READY }"), none},
      {control("name: \"c\" control { int32_false_true: [0, 1] "
               "fp32_false_true: [0, 1] }"),
       "sequence batching specifies more than one from 'int32_false_true', "
       "'fp32_false_true' and 'bool_false_true' for CONTROL_SEQUENCE_START for "
       "m (config.pbtxt:4: "
       "`sequence_batching.control_input[0].control[0]`)"},
      {control("name: \"c\" control { bool_false_true: [true] }"),
       "sequence batching control 'bool_false_true' must have exactly 2 "
       "entries for CONTROL_SEQUENCE_START for m (config.pbtxt:4: "
       "`sequence_batching.control_input[0].control[0].bool_false_true`)"},
      {control("name: \"c\" control { fp32_false_true: [0, 1] } control { "
               "fp32_false_true: [0, 1] }"),
       "sequence batching specifies multiple CONTROL_SEQUENCE_START tensors "
       "for m (config.pbtxt:4: "
       "`sequence_batching.control_input[0].control[1]`)"},
      {control("name: \"c\" } control_input { name: \"c\""),
       "sequence batching control tensor 'c' is specified for multiple control "
       "kinds for m (config.pbtxt:4: "
       "`sequence_batching.control_input[1]`)"},
      {control("name: \"c\" control { kind: CONTROL_SEQUENCE_CORRID data_type: "
               "TYPE_UINT64 int32_false_true: [0, 1] }"),
       "sequence batching must not specify either 'int32_false_true', "
       "'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_CORRID for "
       "m (config.pbtxt:4: "
       "`sequence_batching.control_input[0].control[0]`)"},
      {control("name: \"c\" control { kind: CONTROL_SEQUENCE_CORRID }"),
       "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. "
       "Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, "
       "TYPE_INT32 and TYPE_STRING (config.pbtxt:4: "
       "`sequence_batching.control_input[0].control[0].data_type`)"},
      {"sequence_batching { oldest { preferred_batch_size: 0 } }",
       "sequence batching preferred batch size must be positive for m "
       "(config.pbtxt:3: `sequence_batching.oldest.preferred_batch_size`)"},
      {"sequence_batching { oldest { preferred_batch_size: 9 } }",
       "sequence batching preferred batch size must be <= max batch size for m "
       "(config.pbtxt:3: `sequence_batching.oldest.preferred_batch_size`)"},
      {"sequence_batching { direct { minimum_slot_utilization: nan } }",
       "sequence batching minimum slot utilization must be in range (0.0, 1.0] "
       "for m (config.pbtxt:3: "
       "`sequence_batching.direct.minimum_slot_utilization`)"},
      {"sequence_batching {} response_cache { enable: true }",
       "Response Cache does not currently support model m with sequence "
       "batching scheduler. Please disable the response cache. "
       "(config.pbtxt:3: `response_cache`)"},
  });
}

TEST(ModelChecks, SequenceStates) {
  const auto state = [](const std::string& body,
                        const std::string& initial = "") {
    return "sequence_batching { state {\ninput_name: \"s\" output_name: "
           "\"t\" " +
           body +
           (initial.empty() ? "" : "\ninitial_state { " + initial + " }") +
           " } }";
  };
  const std::string typed = "data_type: TYPE_FP32 dims: [-1, 2] ";
  const std::string place = " (config.pbtxt:5: "
                            "`sequence_batching.state[0].initial_state`)";
  expectAll({
      {state("data_type: TYPE_FP64 dims: [4294967296, 4294967296]"),
       "sequence batching state 's' must have dimensions of at least 1, or -1, "
       "and states at most 1 GiB in all for m (config.pbtxt:4: "
       "`sequence_batching.state[0].dims`)"},
      {state("data_type: TYPE_FP64 dims: [1073741824]"),
       "sequence batching state 's' must have dimensions of at least 1, or -1, "
       "and states at most 1 GiB in all for m (config.pbtxt:4: "
       "`sequence_batching.state[0].dims`)"},
      {state("dims: [1]"),
       "sequence batching state 's' must specify 'data_type' for m "
       "(config.pbtxt:4: `sequence_batching.state[0].data_type`)"},
      {state(typed, "data_type: TYPE_INT32"),
       "The data type used for 'initial_state' field of state 's' does not "
       "match the state data type." +
           place},
      {state(typed, "data_type: TYPE_FP32"),
       "Field 'name' must be set when using initial_state for state input "
       "'s'." +
           place},
      {state(typed, "name: \"n\" data_type: TYPE_FP32 dims: 1"),
       "Number of dimensions in 'initial_state' doesn't match the size of "
       "'state' dimensions for state input 's'. 1 != 2" +
           place},
      {state(typed, "name: \"n\" data_type: TYPE_FP32 dims: [-1, 2]"),
       "'initial_state' field for state input name 's' contains variable "
       "dimensions." +
           place},
      {state(typed, "name: \"n\" data_type: TYPE_FP32 dims: [1, 3]"),
       "'initial_state' dim for input name 's' doesn't match 'state' dim "
       "description. 3 != 2" +
           place},
      {state(typed, "name: \"n\" data_type: TYPE_FP32 dims: [1, 2]"),
       "initial_state setting expects state's' to have state_data set" + place},
      {state(typed, "name: \"n\" data_type: TYPE_FP32 dims: [1, 2] zero_data: "
                    "true"),
       ""},
  });
}

TEST(ModelChecks, InstanceGroups) {
  const std::string begin = "instance group m_0 of model m ";
  const std::string gpus = " (config.pbtxt:3: `instance_group[0].gpus`)";
  expectAll(
      {
          {"instance_group { kind: KIND_CPU gpus: 0 }",
           begin + "has kind KIND_CPU but specifies one or more GPUs "
                   "(config.pbtxt:3: `instance_group[0].gpus`)"},
          {"instance_group { kind: KIND_MODEL gpus: 0 }",
           begin + "has kind KIND_MODEL but specifies one or more GPUs "
                   "(config.pbtxt:3: `instance_group[0].gpus`)"},
          {"instance_group { kind: KIND_GPU gpus: 7 }",
           begin +
               "specifies invalid or unsupported gpu id 7. GPUs with at "
               "least the minimum required CUDA compute compatibility of "
               "6.000000 are: 0, 1" +
               gpus},
          {"instance_group { kind: KIND_CPU profile: \"1\" }",
           begin + "and platform specifies profile field which is only "
                   "supported for TensorRT models (config.pbtxt:3: "
                   "`instance_group[0].profile`)"},
          {"instance_group { count: 1000 } instance_group { count: 1000 }",
           "instance groups must have counts that are not negative and at most "
           "1024 in all for m (config.pbtxt:3: `instance_group`)"},
          {"instance_group { count: -1 }",
           "instance groups must have counts that are not negative and at most "
           "1024 in all for m (config.pbtxt:3: `instance_group`)"},
          {"instance_group { kind: KIND_GPU }", ""},
      },
      twoGpus);
  expectAll({{"instance_group { kind: KIND_GPU }",
              begin + "has kind KIND_GPU but no GPUs are available "
                      "(config.pbtxt:3: `instance_group[0].kind`)"}},
            std::set<int32_t>());
  // Where the GPUs are not known, any are accepted but negative ones.
  expectAll({{"instance_group { kind: KIND_GPU gpus: [0, 7] }", ""},
             {"instance_group { kind: KIND_GPU gpus: -1 }",
              begin +
                  "specifies invalid or unsupported gpu id -1. GPUs with "
                  "at least the minimum required CUDA compute "
                  "compatibility of 6.000000 are: " +
                  gpus}});
  inference::ModelConfig config;
  config.set_name("m");
  config.set_backend("b");
  config.mutable_version_policy()->mutable_latest();
  EXPECT_EQ(checkModelConfig(config).message(),
            "must specify one or more 'instance group's for m");
  config.clear_version_policy();
  EXPECT_EQ(checkModelConfig(config).message(),
            "must specify 'version policy' for m");
  config.mutable_version_policy()->mutable_latest();
  config.add_instance_group()->set_kind(
      inference::ModelInstanceGroup::KIND_GPU);
  EXPECT_EQ(checkModelConfig(config, twoGpus).message(),
            "instance group  of model m has kind KIND_GPU but specifies no "
            "GPUs");
}

TEST(ModelChecks, CacheAndMetrics) {
  const auto metric = [](const std::string& body) {
    return "model_metrics { metric_control {\n" + body + " } }";
  };
  const std::string family = "metric_identifier { family: \"f\" } ";
  const std::string place =
      " (config.pbtxt:4: `model_metrics.metric_control[0]`)";
  expectAll({
      {"model_transaction_policy { decoupled: true }\n"
       "response_cache { enable: true }",
       "Response Cache does not currently support model m with 'decoupled' "
       "transaction policy. Please disable the response cache. "
       "(config.pbtxt:4: `response_cache`)"},
      {metric("histogram_options { buckets: 1 }"),
       "metric control must specify 'metric_identifier'" + place},
      {metric("metric_identifier {}"),
       "metric identifier must specify non-empty 'family'" + place},
      {metric(family),
       "metric control must specify 'histogram_options'" + place},
      {metric(family + "histogram_options {}"),
       "histogram options must specify non-empty 'buckets'" + place},
      {metric(family + "histogram_options { buckets: [1, nan] }"),
       "histogram options must specify 'buckets' that rise "
       "(config.pbtxt:4: "
       "`model_metrics.metric_control[0].histogram_options.buckets`)"},
      {metric(family + "histogram_options { buckets: [1, 2] }"), ""},
  });
}

TEST(ModelChecks, AllMistakesAreReportedTritonsFirst) {
  EXPECT_EQ(
      failure("backend: \"b\"\n"
              "max_batch_size: -1\n"
              "input { name: \"i\" data_type: TYPE_FP32 dims: 0 }\n"
              "input { name: \"j\" dims: 1 }\n"
              "instance_group { kind: KIND_CPU gpus: 0 }\n"),
      "'max_batch_size' must be non-negative value for m (config.pbtxt:2: "
      "`max_batch_size`)\n"
      "model input 'i' dimension must be integer >= 1, or -1 to indicate a "
      "variable-size dimension for m (config.pbtxt:3: `input[0].dims`)\n"
      "model input 'j' must specify 'data_type' for m (config.pbtxt:4: "
      "`input[1].data_type`)\n"
      "instance group m_0 of model m has kind KIND_CPU but specifies one or "
      "more GPUs (config.pbtxt:5: `instance_group[0].gpus`)");
}

TEST(ModelChecks, AVariableThatIsNotFilledInIsNamedAsTheCause) {
  EXPECT_EQ(failure("backend: \"${triton_backend}\"\n"),
            "must specify 'platform' or 'backend' for 'm' (config.pbtxt:1: "
            "`backend`)\n"
            "config.pbtxt: template variables that are not filled in count as "
            "unset: `${triton_backend}`");
}

TEST(ModelChecks, CountsAreLimited) {
  std::string inputs, steps;
  for (int i = 0; i < 1025; ++i) {
    inputs += input;
    steps += "step {}\n";
  }
  EXPECT_EQ(failure("backend: \"b\"\n" + inputs),
            "at most 1024 `input`s are allowed for m (config.pbtxt:2: "
            "`input`)");
  EXPECT_EQ(
      failure("platform: \"ensemble\" ensemble_scheduling {\n" + steps + "}"),
      "at most 1024 steps are allowed for ensemble 'm' (config.pbtxt:2: "
      "`ensemble_scheduling.step`)");
  EXPECT_EQ(failure(std::string((size_t(4) << 20) + 1, ' ')),
            "`config.pbtxt` is larger than 4194304 bytes");
  EXPECT_EQ(failure("backend: \"\\377\""),
            "the texts of a configuration must be UTF-8 for m");
}

} // namespace
} // namespace reciperun::server
