// See TensorRtLlm.h. The parameters are those of TensorRT-LLM's
// all_models/inflight_batcher_llm/tensorrt_llm.

#include "runtime/server/config/TensorRtLlm.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace reciperun::server {
namespace {

using inference::ModelConfig;

/// What a parameter is to this server.
enum class Use {
  reads,  // it is used
  planned // the plan decides it, or there is nothing to decide
};

struct Row {
  std::string_view name;
  Use use = Use::planned;
};

constexpr auto rows = std::to_array<Row>({
    {"gpt_model_path", Use::reads},
    {"tokenizer_dir", Use::reads},
    {"exclude_input_in_output", Use::reads},
    {"batch_scheduler_policy", Use::reads},
    {"gpt_model_type", Use::reads},
    {"max_beam_width"},
    {"FORCE_CPU_ONLY_INPUT_TENSORS"},
    {"encoder_model_path"},
    {"max_tokens_in_paged_kv_cache"},
    {"max_attention_window_size"},
    {"sink_token_length"},
    {"kv_cache_free_gpu_mem_fraction"},
    {"cross_kv_cache_fraction"},
    {"kv_cache_host_memory_bytes"},
    {"kv_cache_onboard_blocks"},
    {"enable_trt_overlap"},
    {"cancellation_check_period_ms"},
    {"stats_check_period_ms"},
    {"recv_poll_period_ms"},
    {"iter_stats_max_iterations"},
    {"request_stats_max_iterations"},
    {"enable_kv_cache_reuse"},
    {"normalize_log_probs"},
    {"enable_chunked_context"},
    {"gpu_device_ids"},
    {"participant_ids"},
    {"num_nodes"},
    {"lora_cache_optimal_adapter_size"},
    {"lora_cache_max_adapter_size"},
    {"lora_cache_gpu_memory_fraction"},
    {"lora_cache_host_memory_bytes"},
    {"lora_prefetch_dir"},
    {"decoding_mode"},
    {"executor_worker_path"},
    {"lookahead_window_size"},
    {"lookahead_ngram_size"},
    {"lookahead_verification_set_size"},
    {"medusa_choices"},
    {"eagle_choices"},
    {"gpu_weights_percent"},
    {"enable_context_fmha_fp32_acc"},
    {"multi_block_mode"},
    {"cuda_graph_mode"},
    {"cuda_graph_cache_size"},
    {"speculative_decoding_fast_logits"},
    {"guided_decoding_backend"},
    {"xgrammar_tokenizer_info_path"},
});

constexpr const char* policyName = "batch_scheduler_policy";
constexpr const char* typeName = "gpt_model_type";

const std::string* valueOf(const ModelConfig& config, const char* name) {
  const auto found = config.parameters().find(name);
  return found == config.parameters().end() ? nullptr
                                            : &found->second.string_value();
}

bool isBatchingType(const std::string& value) {
  return value == "inflight_fused_batching" || value == "inflight_batching";
}

/// Some documents give the scheduler's policy the name of a type of batching.
Status adaptPolicy(ModelConfig& config, std::vector<std::string>& warnings) {
  const std::string* const policy = valueOf(config, policyName);
  if (!policy || *policy == "guaranteed_no_evict" ||
      *policy == "max_utilization" || *policy == "static_batch")
    return Status::ok();
  if (!isBatchingType(*policy))
    return Status::error("model '" + config.name() + "' has the parameter `" +
                             policyName + "` '" + *policy +
                             "', which must be `guaranteed_no_evict` or "
                             "`max_utilization`",
                         StatusCode::invalidArgument);
  warnings.push_back("model `" + config.name() + "`: `" + *policy +
                     "` is a value of `" + typeName + "`, not of `" +
                     policyName +
                     "`; it is read as such, and the policy is "
                     "`guaranteed_no_evict`");
  auto& parameters = *config.mutable_parameters();
  parameters[typeName].set_string_value(*policy);
  parameters[policyName].set_string_value("guaranteed_no_evict");
  return Status::ok();
}

Status checkType(const ModelConfig& config) {
  const std::string* const type = valueOf(config, typeName);
  if (!type || *type == "V1" || isBatchingType(*type))
    return Status::ok();
  return Status::error("model '" + config.name() + "' has the parameter `" +
                           typeName + "` '" + *type +
                           "', which must be `inflight_fused_batching`",
                       StatusCode::invalidArgument);
}

/// Names the parameters that are not used.
void warnOfParameters(const ModelConfig& config,
                      std::vector<std::string>& warnings) {
  std::vector<std::string> unknown, planned;
  for (const auto& [name, value] : config.parameters()) {
    const auto row = std::ranges::find(rows, name, &Row::name);
    if (row == rows.end())
      unknown.push_back("`" + name + "`");
    else if (row->use == Use::planned)
      planned.push_back("`" + name + "`");
  }
  const auto warn = [&](std::vector<std::string> names, const char* why) {
    if (names.empty())
      return;
    std::ranges::sort(names);
    std::string list;
    for (const std::string& name : names)
      list += (list.empty() ? "" : ", ") + name;
    warnings.push_back("model `" + config.name() + "`: " + list + why);
  };
  warn(std::move(unknown), ": no parameter of TensorRT-LLM's backend");
  warn(std::move(planned), ": not used here; the engine's plan decides it");
}

} // namespace

Status adaptTensorRtLlm(ModelConfig& config,
                        std::vector<std::string>& warnings) {
  if (config.backend() != "tensorrtllm")
    return Status::ok();
  RECIPERUN_TRY(adaptPolicy(config, warnings));
  RECIPERUN_TRY(checkType(config));
  warnOfParameters(config, warnings);
  return Status::ok();
}

} // namespace reciperun::server
