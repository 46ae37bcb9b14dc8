// See TensorRtLlm.h.

#include "runtime/server/config/TensorRtLlm.h"

#include "runtime/cli/Spelling.h"
#include "runtime/server/config/ParameterValues.h"
#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <variant>

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using Model = TensorRtLlmModel;
using Values = TensorRtLlmParameters;

/// What a parameter is to this server.
enum class Use {
  reads,  // it is used
  planned // the plan decides it, or there is nothing to decide
};

/// The member that holds a parameter, which is also its type.
using Member =
    std::variant<bool Values::*, int64_t Values::*, double Values::*,
                 std::string Values::*, std::optional<int64_t> Values::*,
                 std::vector<int64_t> Values::*, Values::Ids Values::*>;

struct Row {
  const char* name;
  Member member;
  Use use = Use::planned;
  int64_t least = 0;      // of an integer
  int64_t most = 1 << 30; // of an integer
};

constexpr int64_t mostParameterBytes = int64_t(1) << 50;

const std::vector<Row>& rowsOf(Model model) {
  static const std::map<Model, std::vector<Row>> rows = {
      {Model::none, {}},
      {Model::tokens,
       {
           {"gpt_model_path", &Values::gptModelPath, Use::reads},
           {"gpt_model_type", &Values::gptModelType, Use::reads},
           {"tokenizer_dir", &Values::tokenizerDir, Use::reads},
           {"batch_scheduler_policy", &Values::batchSchedulerPolicy,
            Use::reads},
           {"exclude_input_in_output", &Values::excludeInputInOutput,
            Use::reads},
           {"max_beam_width", &Values::maxBeamWidth, Use::planned, 1},
           {"FORCE_CPU_ONLY_INPUT_TENSORS", &Values::forceCpuOnlyInputTensors},
           {"encoder_model_path", &Values::encoderModelPath},
           {"max_tokens_in_paged_kv_cache", &Values::maxTokensInPagedKvCache,
            Use::planned, 1},
           {"max_attention_window_size", &Values::maxAttentionWindowSize,
            Use::planned, 1},
           {"sink_token_length", &Values::sinkTokenLength},
           {"kv_cache_free_gpu_mem_fraction",
            &Values::kvCacheFreeGpuMemFraction},
           {"cross_kv_cache_fraction", &Values::crossKvCacheFraction},
           {"kv_cache_host_memory_bytes", &Values::kvCacheHostMemoryBytes,
            Use::planned, 0, mostParameterBytes},
           {"kv_cache_onboard_blocks", &Values::kvCacheOnboardBlocks},
           {"enable_trt_overlap", &Values::enableTrtOverlap},
           {"cancellation_check_period_ms", &Values::cancellationCheckPeriodMs},
           {"stats_check_period_ms", &Values::statsCheckPeriodMs},
           {"recv_poll_period_ms", &Values::recvPollPeriodMs},
           {"iter_stats_max_iterations", &Values::iterStatsMaxIterations},
           {"request_stats_max_iterations", &Values::requestStatsMaxIterations},
           {"enable_kv_cache_reuse", &Values::enableKvCacheReuse},
           {"normalize_log_probs", &Values::normalizeLogProbs},
           {"enable_chunked_context", &Values::enableChunkedContext},
           {"gpu_device_ids", &Values::gpuDeviceIds},
           {"participant_ids", &Values::participantIds},
           {"num_nodes", &Values::numNodes, Use::planned, 1},
           {"lora_cache_optimal_adapter_size",
            &Values::loraCacheOptimalAdapterSize, Use::planned, 1},
           {"lora_cache_max_adapter_size", &Values::loraCacheMaxAdapterSize,
            Use::planned, 1},
           {"lora_cache_gpu_memory_fraction",
            &Values::loraCacheGpuMemoryFraction},
           {"lora_cache_host_memory_bytes", &Values::loraCacheHostMemoryBytes,
            Use::planned, 0, mostParameterBytes},
           {"lora_prefetch_dir", &Values::loraPrefetchDir},
           {"decoding_mode", &Values::decodingMode},
           {"executor_worker_path", &Values::executorWorkerPath},
           {"lookahead_window_size", &Values::lookaheadWindowSize, Use::planned,
            1},
           {"lookahead_ngram_size", &Values::lookaheadNgramSize, Use::planned,
            1},
           {"lookahead_verification_set_size",
            &Values::lookaheadVerificationSetSize, Use::planned, 1},
           {"medusa_choices", &Values::medusaChoices},
           {"eagle_choices", &Values::eagleChoices},
           {"gpu_weights_percent", &Values::gpuWeightsPercent},
           {"enable_context_fmha_fp32_acc", &Values::enableContextFmhaFp32Acc},
           {"multi_block_mode", &Values::multiBlockMode},
           {"cuda_graph_mode", &Values::cudaGraphMode},
           {"cuda_graph_cache_size", &Values::cudaGraphCacheSize},
           {"speculative_decoding_fast_logits",
            &Values::speculativeDecodingFastLogits},
           {"guided_decoding_backend", &Values::guidedDecodingBackend},
           {"xgrammar_tokenizer_info_path", &Values::xgrammarTokenizerInfoPath},
       }},
      {Model::preprocessing,
       {
           {"tokenizer_dir", &Values::tokenizerDir, Use::reads},
           {"add_special_tokens", &Values::addSpecialTokens, Use::reads},
           {"gpt_model_path", &Values::gptModelPath},
           {"multimodal_model_path", &Values::multimodalModelPath},
           {"max_num_images", &Values::maxNumImages},
           {"hf_model_path", &Values::hfModelPath},
       }},
      {Model::postprocessing,
       {
           {"tokenizer_dir", &Values::tokenizerDir, Use::reads},
           {"skip_special_tokens", &Values::skipSpecialTokens, Use::reads},
       }},
      {Model::bls,
       {
           {"tensorrt_llm_model_name", &Values::tensorrtLlmModelName,
            Use::reads},
           {"accumulate_tokens", &Values::accumulateTokens},
           {"tensorrt_llm_draft_model_name",
            &Values::tensorrtLlmDraftModelName},
           {"multimodal_encoders_name", &Values::multimodalEncodersName},
       }},
  };
  return rows.at(model);
}

constexpr const char* policyName = "batch_scheduler_policy";
constexpr const char* typeName = "gpt_model_type";

/// Texts of which a parameter takes only some.
struct Choices {
  std::string_view name;
  std::vector<std::string> values;
};

const std::vector<Choices>& allChoices() {
  static const std::vector<Choices> all = {
      {policyName, {"guaranteed_no_evict", "max_utilization", "static_batch"}},
      {typeName, {"inflight_fused_batching", "inflight_batching", "V1", "v1"}},
      {"decoding_mode",
       {"top_k", "top_p", "top_k_top_p", "beam_search", "medusa", "redrafter",
        "lookahead", "eagle"}},
      {"guided_decoding_backend", {"xgrammar"}}};
  return all;
}

bool isBatchingType(const std::string& value) {
  return value == "inflight_fused_batching" || value == "inflight_batching";
}

/// Reads the value of one parameter into its member; else says what it must be.
class ReadValue {
public:
  ReadValue(const Row& row, const std::string& text, Values& values)
      : row(row), text(text), values(values) {}

  /// Empty where the value is read.
  std::string run() const { return std::visit(*this, row.member); }

  std::string operator()(bool Values::*member) const {
    return put(member, flagOf(text), "`true` or `false`");
  }
  std::string operator()(int64_t Values::*member) const {
    return put(member, integerOf(text, row.least, row.most), integers());
  }
  std::string operator()(std::optional<int64_t> Values::*member) const {
    return put(member, integerOf(text, row.least, row.most), integers());
  }
  std::string operator()(double Values::*member) const {
    return put(member, fractionOf(text), "a number from 0 to 1");
  }
  std::string operator()(std::vector<int64_t> Values::*member) const {
    return put(member, integerListOf(text, row.least),
               "integers of at least " + std::to_string(row.least) +
                   " with commas between them");
  }
  std::string operator()(Values::Ids Values::*member) const {
    return put(member, idsOf(text),
               "ids with commas between them, and semicolons between "
               "instances, as in `0,1;2,3`");
  }
  std::string operator()(std::string Values::*member) const {
    const std::string_view name = row.name;
    if (name.ends_with("_choices") && !isChoiceTree(text))
      return "lists of integers, as in `[[0],[0,1]]`";
    for (const Choices& choices : allChoices())
      if (choices.name == name &&
          std::ranges::find(choices.values, text) == choices.values.end())
        return cli::quotedList(choices.values, "or");
    values.*member = text;
    return "";
  }

private:
  std::string integers() const {
    return "an integer from " + std::to_string(row.least) + " to " +
           std::to_string(row.most);
  }

  template <class T, class Given>
  std::string put(T Values::*member, Given&& given,
                  const std::string& wanted) const {
    if (!given)
      return wanted;
    values.*member = *std::forward<Given>(given);
    return "";
  }

  const Row& row;
  const std::string& text;
  Values& values;
};

/// In alphabetical order, without those that are empty.
std::map<std::string, std::string> givenOf(const ModelConfig& config) {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : config.parameters())
    if (!value.string_value().empty())
      given[name] = value.string_value();
  return given;
}

/// Reads all parameters, and adds the mistakes.
Values readValues(const ModelConfig& config, Model model,
                  ConfigMistakes& found) {
  Values values;
  const auto given = givenOf(config);
  for (const Row& row : rowsOf(model)) {
    const auto at = given.find(row.name);
    if (at == given.end())
      continue;
    if (at->first == policyName && isBatchingType(at->second))
      continue; // adaptTensorRtLlm moves it
    const std::string wanted = ReadValue(row, at->second, values).run();
    if (!wanted.empty())
      found.push_back({"model '" + config.name() + "' has the parameter `" +
                           at->first + "` '" + at->second +
                           "', which must be " + wanted,
                       "parameters"});
  }
  return values;
}

/// Some documents give the scheduler's policy the name of a type of batching.
void adaptPolicy(ModelConfig& config, std::vector<std::string>& warnings) {
  auto& parameters = *config.mutable_parameters();
  const auto policy = parameters.find(policyName);
  if (policy == parameters.end() ||
      !isBatchingType(policy->second.string_value()))
    return;
  const std::string type = policy->second.string_value();
  warnings.push_back("model `" + config.name() + "`: `" + type +
                     "` is a value of `" + typeName + "`, not of `" +
                     policyName +
                     "`; it is read as such, and the policy is "
                     "`guaranteed_no_evict`");
  parameters[policyName].set_string_value("guaranteed_no_evict");
  if (parameters[typeName].string_value().empty())
    parameters[typeName].set_string_value(type);
}

/// `name` in backquotes, with the name that it is most likely meant for.
std::string unknownParameter(const std::string& name,
                             const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    names.push_back(row.name);
  const auto nearest = cli::nearest(name, names);
  return "`" + name + "`" +
         (nearest ? " (did you mean `" + *nearest + "`?)" : "");
}

/// Names the parameters that are not used.
void warnOfParameters(const ModelConfig& config, Model model,
                      std::vector<std::string>& warnings) {
  std::string unknown, planned;
  const std::vector<Row>& rows = rowsOf(model);
  for (const auto& given : givenOf(config)) {
    const std::string& name = given.first;
    const auto row = std::ranges::find_if(
        rows, [&](const Row& each) { return each.name == name; });
    if (row == rows.end())
      unknown += (unknown.empty() ? "" : ", ") + unknownParameter(name, rows);
    else if (row->use == Use::planned)
      planned += (planned.empty() ? "`" : ", `") + name + "`";
  }
  const std::string begin = "model `" + config.name() + "`: ";
  if (!unknown.empty())
    warnings.push_back(begin + "TensorRT-LLM has no parameter " + unknown);
  if (!planned.empty())
    warnings.push_back(begin + "this server ignores " + planned +
                       "; the engine's plan decides them");
}

template <class Ios> bool hasNamed(const Ios& all, std::string_view name) {
  return std::ranges::any_of(
      all, [&](const auto& each) { return each.name() == name; });
}

} // namespace

TensorRtLlmModel tensorRtLlmModelOf(const ModelConfig& config) {
  const auto has = [&](const char* input, const char* output) {
    return hasNamed(config.input(), input) && hasNamed(config.output(), output);
  };
  if (config.backend() == "tensorrtllm")
    return Model::tokens;
  if (config.backend() != "python")
    return Model::none;
  if (has("QUERY", "INPUT_ID"))
    return Model::preprocessing;
  if (has("TOKENS_BATCH", "OUTPUT"))
    return Model::postprocessing;
  if (has("input_ids", "output_ids"))
    return Model::tokens;
  return has("text_input", "text_output") ? Model::bls : Model::none;
}

std::optional<bool> flagOf(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return char(std::tolower(c)); });
  if (lower == "true" || lower == "1" || lower == "yes")
    return true;
  if (lower == "false" || lower == "0" || lower == "no")
    return false;
  return std::nullopt;
}

void checkTensorRtLlm(const ModelConfig& config, ConfigMistakes& found) {
  readValues(config, tensorRtLlmModelOf(config), found);
}

void adaptTensorRtLlm(ModelConfig& config, std::vector<std::string>& warnings) {
  const Model model = tensorRtLlmModelOf(config);
  if (model == Model::none)
    return;
  if (model == Model::tokens)
    adaptPolicy(config, warnings);
  warnOfParameters(config, model, warnings);
}

Expected<TensorRtLlmParameters>
tensorRtLlmParametersOf(const ModelConfig& config) {
  ConfigMistakes found;
  Values values = readValues(config, tensorRtLlmModelOf(config), found);
  if (!found.empty())
    return Status::error(found.front().text, StatusCode::invalidArgument);
  return values;
}

} // namespace reciperun::server
