// The parameters of TensorRT-LLM's models.

#include "runtime/server/config/TensorRtLlm.h"

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

std::string parameter(const std::string& name, const std::string& value) {
  return "parameters { key: \"" + name + "\" value { string_value: \"" + value +
         "\" } }\n";
}

Expected<ReadConfig> readTokens(const std::string& parameters) {
  return parseModelConfig("backend: \"tensorrtllm\"\n" + parameters,
                          "tensorrt_llm", "config.pbtxt");
}

TensorRtLlmParameters valuesOf(const std::string& parameters) {
  const auto read = readTokens(parameters);
  EXPECT_TRUE(read) << read.message();
  if (!read)
    return {};
  const auto values = tensorRtLlmParametersOf(*read->config);
  EXPECT_TRUE(values) << values.message();
  return values ? *values : TensorRtLlmParameters();
}

TEST(TensorRtLlm, ValuesAreTyped) {
  const TensorRtLlmParameters values =
      valuesOf(parameter("gpt_model_path", "../engine") +
               parameter("tokenizer_dir", "tokenizer") +
               parameter("max_beam_width", "4") +
               parameter("kv_cache_free_gpu_mem_fraction", "0.85") +
               parameter("max_tokens_in_paged_kv_cache", "2560") +
               parameter("kv_cache_host_memory_bytes", "45000000000") +
               parameter("exclude_input_in_output", "True") +
               parameter("normalize_log_probs", "false") +
               parameter("max_attention_window_size", "4096, 1024") +
               parameter("gpu_device_ids", "0,1;2,3") +
               parameter("decoding_mode", "top_k_top_p") +
               parameter("medusa_choices", "{{0},{0,0},{1}}") +
               parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "no"));
  EXPECT_EQ(values.gptModelPath, "../engine");
  EXPECT_EQ(values.tokenizerDir, "tokenizer");
  EXPECT_EQ(values.maxBeamWidth, 4);
  EXPECT_EQ(values.kvCacheFreeGpuMemFraction, 0.85);
  EXPECT_EQ(values.maxTokensInPagedKvCache, 2560);
  EXPECT_EQ(values.kvCacheHostMemoryBytes, 45'000'000'000);
  EXPECT_TRUE(values.excludeInputInOutput);
  EXPECT_FALSE(values.normalizeLogProbs);
  EXPECT_EQ(values.maxAttentionWindowSize, (std::vector<int64_t>{4096, 1024}));
  EXPECT_EQ(values.gpuDeviceIds, (TensorRtLlmParameters::Ids{{0, 1}, {2, 3}}));
  EXPECT_EQ(values.decodingMode, "top_k_top_p");
  EXPECT_FALSE(values.forceCpuOnlyInputTensors);
}

TEST(TensorRtLlm, AbsentEmptyAndUnfilledValuesHaveTheirDefaults) {
  const TensorRtLlmParameters values =
      valuesOf(parameter("max_beam_width", "") +
               parameter("kv_cache_free_gpu_mem_fraction",
                         "${kv_cache_free_gpu_mem_fraction}"));
  EXPECT_EQ(values.maxBeamWidth, 1);
  EXPECT_EQ(values.kvCacheFreeGpuMemFraction, 0.9);
  EXPECT_EQ(values.maxTokensInPagedKvCache, std::nullopt);
  EXPECT_EQ(values.batchSchedulerPolicy, "guaranteed_no_evict");
  EXPECT_TRUE(values.normalizeLogProbs);
  EXPECT_TRUE(values.gpuDeviceIds.empty());
}

TEST(TensorRtLlm, OtherValuesAreMistakes) {
  const struct {
    const char* name;
    const char* value;
    const char* wanted;
  } cases[] = {
      {"max_beam_width", "0", "an integer from 1 to 1073741824"},
      {"max_beam_width", "two", "an integer from 1 to 1073741824"},
      {"max_beam_width", "1.5", "an integer from 1 to 1073741824"},
      {"kv_cache_free_gpu_mem_fraction", "1.1", "a number from 0 to 1"},
      {"kv_cache_free_gpu_mem_fraction", "nan", "a number from 0 to 1"},
      {"enable_chunked_context", "maybe", "`true` or `false`"},
      {"max_attention_window_size", "4096,",
       "integers of at least 1 with commas between them"},
      {"gpu_device_ids", "0,-1",
       "ids with commas between them, and semicolons between instances, as in "
       "`0,1;2,3`"},
      {"medusa_choices", "[[0],1]", "lists of integers, as in `[[0],[0,1]]`"},
      {"batch_scheduler_policy", "fifo",
       "`guaranteed_no_evict`, `max_utilization` or `static_batch`"},
      {"gpt_model_type", "max_utilization",
       "`inflight_fused_batching`, `inflight_batching`, `V1` or `v1`"},
      {"decoding_mode", "greedy",
       "`top_k`, `top_p`, `top_k_top_p`, `beam_search`, `medusa`, `redrafter`, "
       "`lookahead` or `eagle`"},
      {"guided_decoding_backend", "outlines", "`xgrammar`"},
  };
  for (const auto& [name, value, wanted] : cases)
    EXPECT_EQ(readTokens(parameter(name, value)).message(),
              std::string("model 'tensorrt_llm' has the parameter `") + name +
                  "` '" + value + "', which must be " + wanted +
                  " (config.pbtxt:2:1: `parameters`)");
}

TEST(TensorRtLlm, ATypeOfBatchingIsNoPolicy) {
  const auto read = readTokens(
      parameter("batch_scheduler_policy", "inflight_fused_batching"));
  ASSERT_TRUE(read) << read.message();
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_EQ(read->warnings[0],
            "model `tensorrt_llm`: `inflight_fused_batching` is a value of "
            "`gpt_model_type`, not of `batch_scheduler_policy`; it is read as "
            "such, and the policy is `guaranteed_no_evict`");
  const auto& parameters = read->config->parameters();
  EXPECT_EQ(parameters.at("batch_scheduler_policy").string_value(),
            "guaranteed_no_evict");
  EXPECT_EQ(parameters.at("gpt_model_type").string_value(),
            "inflight_fused_batching");
}

TEST(TensorRtLlm, ParametersWithoutEffectAreNamed) {
  const auto read =
      readTokens(parameter("gpt_model_path", "e") +
                 parameter("kv_cache_free_gpu_memory_fraction", "0.5") +
                 parameter("zzz", "1") + parameter("num_nodes", "1") +
                 parameter("max_beam_width", "1"));
  ASSERT_TRUE(read) << read.message();
  ASSERT_EQ(read->warnings.size(), 2u);
  EXPECT_EQ(read->warnings[0],
            "model `tensorrt_llm`: TensorRT-LLM has no parameter "
            "`kv_cache_free_gpu_memory_fraction` (did you mean "
            "`kv_cache_free_gpu_mem_fraction`?), `zzz`");
  EXPECT_EQ(read->warnings[1],
            "model `tensorrt_llm`: this server ignores `max_beam_width`, "
            "`num_nodes`; the engine's plan decides them");
}

TEST(TensorRtLlm, OtherModelsKeepTheirParameters) {
  const auto read = parseModelConfig("backend: \"python\"\n" +
                                         parameter("max_beam_width", "many") +
                                         parameter("mine", "1"),
                                     "m", "config.pbtxt");
  ASSERT_TRUE(read) << read.message();
  EXPECT_TRUE(read->warnings.empty());
  EXPECT_EQ(read->config->parameters().at("max_beam_width").string_value(),
            "many");
}

TEST(TensorRtLlm, ModelsAreKnownByTheirTensors) {
  const auto of = [](const std::string& backend, const std::string& input,
                     const std::string& output) {
    inference::ModelConfig config;
    config.set_backend(backend);
    config.add_input()->set_name(input);
    config.add_output()->set_name(output);
    return tensorRtLlmModelOf(config);
  };
  using Model = TensorRtLlmModel;
  EXPECT_EQ(of("tensorrtllm", "x", "y"), Model::tokens);
  EXPECT_EQ(of("python", "input_ids", "output_ids"), Model::tokens);
  EXPECT_EQ(of("python", "QUERY", "INPUT_ID"), Model::preprocessing);
  EXPECT_EQ(of("python", "TOKENS_BATCH", "OUTPUT"), Model::postprocessing);
  EXPECT_EQ(of("python", "text_input", "text_output"), Model::bls);
  EXPECT_EQ(of("python", "x", "y"), Model::none);
  EXPECT_EQ(of("b", "QUERY", "INPUT_ID"), Model::none);
}

TEST(TensorRtLlm, FlagsInUpperAndLowerCase) {
  for (const char* text : {"true", "True", "TRUE", "1", "yes"})
    EXPECT_EQ(flagOf(text), true) << text;
  for (const char* text : {"false", "False", "0", "no"})
    EXPECT_EQ(flagOf(text), false) << text;
  for (const char* text : {"", "2", "truee", "on"})
    EXPECT_EQ(flagOf(text), std::nullopt) << text;
}

} // namespace
} // namespace reciperun::server
