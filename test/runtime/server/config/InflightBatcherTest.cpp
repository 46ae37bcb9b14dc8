// Whole model folders: TensorRT-LLM's five models, and those of two documents
// that describe a server for it.

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/TensorRtLlm.h"
#include "runtime/server/config/model_config.pb.h"
#include "test/SourceRoot.h"

#include <gtest/gtest.h>

#include <map>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;

const fs::path inputs =
    fs::path(RECIPEC_SOURCE_ROOT) / "test/runtime/server/Inputs";

Expected<ReadConfig> readFolder(const fs::path& folder,
                                const ServerGpus& gpus = std::nullopt) {
  return readModelConfig(inputs / folder, folder.filename(), "", gpus);
}

TEST(InflightBatcher, AllFiveModelsAreRead) {
  const struct {
    const char* name;
    int inputs, outputs, parameters;
  } models[] = {{"ensemble", 36, 19, 0},
                {"preprocessing", 14, 20, 0},
                {"tensorrt_llm", 62, 21, 6},
                {"postprocessing", 2, 1, 0},
                {"tensorrt_llm_bls", 42, 19, 2}};
  for (const auto& [name, inputCount, outputCount, parameterCount] : models) {
    const auto read = readFolder(fs::path("inflight_batcher_llm") / name);
    ASSERT_TRUE(read) << name << ": " << read.message();
    EXPECT_EQ(read->config->input_size(), inputCount) << name;
    EXPECT_EQ(read->config->output_size(), outputCount) << name;
    EXPECT_EQ(read->config->parameters_size(), parameterCount) << name;
    EXPECT_EQ(versionFolders(inputs / "inflight_batcher_llm" / name),
              std::vector<int64_t>{1})
        << name;
  }
}

TEST(InflightBatcher, TheEnsembleFitsItsModels) {
  std::map<std::string, std::shared_ptr<const inference::ModelConfig>> models;
  for (const char* name :
       {"ensemble", "preprocessing", "tensorrt_llm", "postprocessing"}) {
    const auto read = readFolder(fs::path("inflight_batcher_llm") / name);
    ASSERT_TRUE(read) << read.message();
    models[name] = read->config;
  }
  const FindConfig find = [&](const std::string& name, int64_t) {
    const auto found = models.find(name);
    return found == models.end() ? nullptr : found->second;
  };
  EXPECT_EQ(checkEnsemble(*models["ensemble"], find).message(), "");
  models.erase("postprocessing");
  EXPECT_EQ(checkEnsemble(*models["ensemble"], find).message(),
            "ensemble 'ensemble' depends on 'postprocessing' which has no "
            "loaded version.");
}

TEST(InflightBatcher, TheRepeatedOutputIsLeftOutWithAWarning) {
  const auto read = readFolder("inflight_batcher_llm/ensemble");
  ASSERT_TRUE(read) << read.message();
  int count = 0;
  for (const auto& output : read->config->output())
    count += output.name() == "kv_cache_alloc_total_blocks";
  EXPECT_EQ(count, 1);
  ASSERT_EQ(read->warnings.size(), 2u);
  EXPECT_NE(read->warnings[1].find("the output `kv_cache_alloc_total_blocks` "
                                   "is declared twice; the second one is left "
                                   "out"),
            std::string::npos)
      << read->warnings[1];
}

TEST(InflightBatcher, UnfilledTypesAreThoseThatTensorRtLlmRecommends) {
  const auto read = readFolder("inflight_batcher_llm/tensorrt_llm");
  ASSERT_TRUE(read) << read.message();
  std::map<std::string, inference::DataType> types;
  for (const auto& input : read->config->input())
    types[input.name()] = input.data_type();
  EXPECT_EQ(types["draft_logits"], inference::TYPE_FP32);
  EXPECT_EQ(types["prompt_embedding_table"], inference::TYPE_FP16);
  EXPECT_EQ(types["encoder_input_features"], inference::TYPE_FP16);
  const auto& batching = read->config->dynamic_batching();
  ASSERT_EQ(batching.preferred_batch_size_size(), 1);
  EXPECT_EQ(batching.preferred_batch_size(0), 16);
  EXPECT_TRUE(batching.has_default_queue_policy());
}

// The documents give `batch_scheduler_policy` a value of `gpt_model_type`, and
// have inputs that are not all that TensorRT-LLM needs.
TEST(DocumentedModels, TheTensorRtLlmModelIsReadAsItStands) {
  const auto read = readFolder("documented/llama");
  ASSERT_TRUE(read) << read.message();
  const inference::ModelConfig& config = *read->config;
  EXPECT_EQ(config.backend(), "tensorrtllm");
  EXPECT_EQ(config.max_batch_size(), 8);
  ASSERT_EQ(config.input_size(), 2);
  EXPECT_EQ(config.input(1).name(), "input_lengths");
  EXPECT_EQ(config.output(0).name(), "output_ids");
  ASSERT_EQ(config.instance_group_size(), 1);
  EXPECT_EQ(config.instance_group(0).kind(),
            inference::ModelInstanceGroup::KIND_GPU);
  EXPECT_EQ(config.instance_group(0).gpus(0), 0);
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_NE(read->warnings[0].find("is a value of `gpt_model_type`"),
            std::string::npos);
  const auto values = tensorRtLlmParametersOf(config);
  ASSERT_TRUE(values) << values.message();
  EXPECT_EQ(values->batchSchedulerPolicy, "guaranteed_no_evict");
  EXPECT_EQ(values->gptModelType, "inflight_fused_batching");
}

TEST(DocumentedModels, AGpuThatIsNotThereIsAMistake) {
  EXPECT_EQ(readFolder("documented/llama", std::set<int32_t>{1}).message(),
            "instance group llama_0 of model llama specifies invalid or "
            "unsupported gpu id 0. GPUs with at least the minimum required "
            "CUDA compute compatibility of 6.000000 are: 1 "
            "(config.pbtxt:29:5: `instance_group[0].gpus`)");
}

TEST(DocumentedModels, TheSimpleModelIsRead) {
  const auto read = readFolder("documented/simple");
  ASSERT_TRUE(read) << read.message();
  EXPECT_TRUE(read->warnings.empty());
  EXPECT_EQ(read->config->input(1).name(), "INPUT1");
  EXPECT_EQ(read->config->output(0).dims(0), 16);
}

} // namespace
} // namespace reciperun::server
