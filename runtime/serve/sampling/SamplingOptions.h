// How the next token of an answer is chosen from the model's logits.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLINGOPTIONS_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLINGOPTIONS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// The names are those of vLLM's SamplingParams.
struct SamplingOptions {
  double temperature = 1; // 0: the likeliest token
  int64_t topK = 0;       // 0: all tokens
  double topP = 1;
  double minP = 0;
  double repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0;
  std::vector<std::pair<int32_t, float>> logitBias;
  std::vector<std::vector<int32_t>> badWords;
  uint64_t seed = 0;
  int64_t maxTokens = 256; // of the answer
  int64_t minTokens = 0;
  std::vector<int32_t> stopTokens;
  std::vector<std::string> stopStrings;
  bool ignoreEndTokens = false;
  int logprobs = -1; // the number of top tokens beside the chosen; -1: none
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLINGOPTIONS_H
