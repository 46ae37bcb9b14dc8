// The parameters of TensorRT-LLM's models in a configuration.
//
// TensorRT-LLM's repository (all_models/inflight_batcher_llm) has a model for
// tokens, `tensorrt_llm`; models for the texts before and after it,
// `preprocessing` and `postprocessing`; and one for both, `tensorrt_llm_bls`. A
// model is recognised by its inputs and outputs; a model of the backend
// `tensorrtllm` is always the one for tokens.

#ifndef RECIPERUN_SERVER_CONFIG_TENSORRTLLM_H
#define RECIPERUN_SERVER_CONFIG_TENSORRTLLM_H

#include "runtime/base/Status.h"
#include "runtime/server/config/ConfigChecks.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

enum class TensorRtLlmModel {
  none,
  tokens,
  preprocessing,
  postprocessing,
  bls
};

/// Which of TensorRT-LLM's models a configuration is.
TensorRtLlmModel tensorRtLlmModelOf(const inference::ModelConfig& config);

/// The parameters, by TensorRT-LLM's names in camel case. What is absent
/// or empty has its default.
struct TensorRtLlmParameters {
  using Ids = std::vector<std::vector<int64_t>>;

  // ---- of tensorrt_llm
  std::string gptModelType = "inflight_fused_batching";
  std::string gptModelPath;     // the engine's folder
  std::string encoderModelPath; // empty: no encoder
  std::string batchSchedulerPolicy = "guaranteed_no_evict";
  int64_t maxBeamWidth = 1;
  bool forceCpuOnlyInputTensors = false;
  std::optional<int64_t> maxTokensInPagedKvCache;
  std::vector<int64_t> maxAttentionWindowSize; // by layer; empty: no limit
  int64_t sinkTokenLength = 0;
  double kvCacheFreeGpuMemFraction = 0.9; // of what is free after loading
  double crossKvCacheFraction = 0.5;
  int64_t kvCacheHostMemoryBytes = 0;
  bool kvCacheOnboardBlocks = true;
  bool enableTrtOverlap = false;
  bool excludeInputInOutput = false;
  int64_t cancellationCheckPeriodMs = 100;
  int64_t statsCheckPeriodMs = 100;
  int64_t recvPollPeriodMs = 0;
  int64_t iterStatsMaxIterations = 1000;
  int64_t requestStatsMaxIterations = 0;
  bool enableKvCacheReuse = false;
  bool normalizeLogProbs = true;
  bool enableChunkedContext = false;
  Ids gpuDeviceIds;   // by instance; empty: all
  Ids participantIds; // by instance
  int64_t numNodes = 1;
  int64_t loraCacheOptimalAdapterSize = 8;
  int64_t loraCacheMaxAdapterSize = 64;
  double loraCacheGpuMemoryFraction = 0.05;
  int64_t loraCacheHostMemoryBytes = int64_t(1) << 30;
  std::string loraPrefetchDir;
  std::string decodingMode; // empty: by the beam width
  std::string executorWorkerPath;
  std::optional<int64_t> lookaheadWindowSize;
  std::optional<int64_t> lookaheadNgramSize;
  std::optional<int64_t> lookaheadVerificationSetSize;
  std::string medusaChoices, eagleChoices; // lists of paths, as JSON
  double gpuWeightsPercent = 1;
  bool enableContextFmhaFp32Acc = false;
  bool multiBlockMode = true;
  bool cudaGraphMode = false;
  int64_t cudaGraphCacheSize = 0;
  bool speculativeDecodingFastLogits = false;
  std::string guidedDecodingBackend;
  std::string xgrammarTokenizerInfoPath;
  // ---- of several models
  std::string tokenizerDir;
  // ---- of preprocessing
  bool addSpecialTokens = true;
  std::string multimodalModelPath, hfModelPath;
  std::optional<int64_t> maxNumImages;
  // ---- of postprocessing
  bool skipSpecialTokens = true;
  // ---- of tensorrt_llm_bls
  bool accumulateTokens = false;
  std::string tensorrtLlmModelName = "tensorrt_llm";
  std::string tensorrtLlmDraftModelName;
  std::string multimodalEncodersName;
};

/// Adds a mistake for each parameter with a value that TensorRT-LLM does not
/// accept. Does nothing for other models. Some documents give
/// `batch_scheduler_policy` a value of `gpt_model_type`; this is no mistake
/// here (adaptTensorRtLlm).
void checkTensorRtLlm(const inference::ModelConfig& config,
                      ConfigMistakes& found);

/// Does nothing for other models. Moves a type of batching from
/// `batch_scheduler_policy` to `gpt_model_type`, with a warning; warns of
/// parameters that TensorRT-LLM does not have, and names those that have no
/// meaning here in one warning.
void adaptTensorRtLlm(inference::ModelConfig& config,
                      std::vector<std::string>& warnings);

/// The parameters of a model of TensorRT-LLM, or of one with the same names.
/// Fails with the first value that its parameter does not take.
Expected<TensorRtLlmParameters>
tensorRtLlmParametersOf(const inference::ModelConfig& config);

/// `true`, `1`, `yes` and `false`, `0`, `no` in upper or lower case.
std::optional<bool> flagOf(std::string_view text);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_TENSORRTLLM_H
