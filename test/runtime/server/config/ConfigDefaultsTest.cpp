// What a configuration leaves out is filled in as Triton does.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;

std::shared_ptr<ModelConfig> completed(const std::string& text,
                                       const ServerGpus& gpus = std::nullopt) {
  const auto read =
      parseModelConfig("backend: \"b\"\n" + text, "m", "config.pbtxt", gpus);
  EXPECT_TRUE(read) << read.message();
  return read ? read->config : std::make_shared<ModelConfig>();
}

TEST(ConfigDefaults, NameVersionsAndPinnedMemory) {
  const auto config = completed("");
  EXPECT_EQ(config->name(), "m");
  EXPECT_EQ(config->version_policy().latest().num_versions(), 1u);
  EXPECT_TRUE(config->optimization().input_pinned_memory().enable());
  EXPECT_TRUE(config->optimization().output_pinned_memory().enable());
  EXPECT_TRUE(
      completed("version_policy { all {} }")->version_policy().has_all());
}

TEST(ConfigDefaults, InstanceGroups) {
  const auto none = completed("");
  ASSERT_EQ(none->instance_group_size(), 1);
  EXPECT_EQ(none->instance_group(0).name(), "m");
  EXPECT_EQ(none->instance_group(0).kind(), ModelInstanceGroup::KIND_CPU);
  EXPECT_EQ(none->instance_group(0).count(), 1);
  const auto two = completed("instance_group [ { count: 2 }, { gpus: [0] } ]");
  EXPECT_EQ(two->instance_group(0).name(), "m_0");
  EXPECT_EQ(two->instance_group(1).name(), "m_1");
  EXPECT_EQ(two->instance_group(0).kind(), ModelInstanceGroup::KIND_CPU);
  EXPECT_EQ(two->instance_group(1).kind(), ModelInstanceGroup::KIND_GPU);
}

TEST(ConfigDefaults, OneInstanceOnEachGpuWhereTheyAreKnown) {
  const ServerGpus gpus = std::set<int32_t>{0, 1};
  const auto none = completed("", gpus);
  ASSERT_EQ(none->instance_group_size(), 1);
  EXPECT_EQ(none->instance_group(0).kind(), ModelInstanceGroup::KIND_GPU);
  ASSERT_EQ(none->instance_group(0).gpus_size(), 2);
  EXPECT_EQ(none->instance_group(0).gpus(1), 1);
  const auto cpu = completed("", std::set<int32_t>());
  EXPECT_EQ(cpu->instance_group(0).kind(), ModelInstanceGroup::KIND_CPU);
}

TEST(ConfigDefaults, Batching) {
  const auto dynamic = completed("max_batch_size: 8 dynamic_batching {}");
  ASSERT_EQ(dynamic->dynamic_batching().preferred_batch_size_size(), 1);
  EXPECT_EQ(dynamic->dynamic_batching().preferred_batch_size(0), 8);
  const auto sequences =
      completed("max_batch_size: 8 sequence_batching { oldest {} }");
  const auto& batching = sequences->sequence_batching();
  EXPECT_EQ(batching.max_sequence_idle_microseconds(), 1'000'000u);
  EXPECT_EQ(batching.oldest().preferred_batch_size(0), 8);
  const auto single = completed("dynamic_batching {}");
  EXPECT_EQ(single->dynamic_batching().preferred_batch_size_size(), 0);
}

TEST(ConfigDefaults, DelaysFitIntoClocks) {
  const std::string most = "18446744073709551615";
  const auto config = completed(
      "dynamic_batching { max_queue_delay_microseconds: " + most +
      " default_queue_policy { default_timeout_microseconds: " + most +
      " } priority_levels: 1 default_priority_level: 1 priority_queue_policy { "
      "key: 1 value { default_timeout_microseconds: " +
      most + " } } }");
  const uint64_t years = uint64_t(3'153'600'000) * 1'000'000;
  const auto& batching = config->dynamic_batching();
  EXPECT_EQ(batching.max_queue_delay_microseconds(), years);
  EXPECT_EQ(batching.default_queue_policy().default_timeout_microseconds(),
            years);
  EXPECT_EQ(
      batching.priority_queue_policy().at(1).default_timeout_microseconds(),
      years);
}

TEST(ConfigDefaults, PlatformsHaveBackends) {
  const auto read =
      parseModelConfig("platform: \"onnxruntime_onnx\"", "m", "config.pbtxt");
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->config->backend(), "onnxruntime");
  const auto other =
      parseModelConfig("backend: \"onnxruntime\"", "m", "config.pbtxt");
  ASSERT_TRUE(other) << other.message();
  EXPECT_EQ(other->config->platform(), "onnxruntime_onnx");
}

TEST(ConfigDefaults, EnsemblesGetNoInstances) {
  inference::ModelConfig config;
  config.set_platform("ensemble");
  completeModelConfig(config);
  EXPECT_EQ(config.instance_group_size(), 0);
  EXPECT_FALSE(config.has_optimization());
}

} // namespace
} // namespace reciperun::server
