// How the tokens of an answer are chosen and where the answer ends.
//
// Names, defaults and meaning are those of vLLM's SamplingParams; `Sampler.h`
// defines the order in which they apply.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLINGOPTIONS_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLINGOPTIONS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

struct SamplingOptions {
  double temperature = 1; // 0: greedy
  int64_t topK = 0;       // the most tokens to choose from; 0: all
  double topP = 1;        // the least probability of these tokens together
  double minP = 0;        // relative to the probability of the likeliest
  double repetitionPenalty = 1; // of the prompt's and the answer's tokens
  double presencePenalty = 0;   // of the answer's tokens
  double frequencyPenalty = 0;  // of each occurrence in the answer
  /// Token ids, and the values added to their logits.
  std::vector<std::pair<int32_t, float>> logitBias = {};
  /// Token sequences that the answer never has.
  std::vector<std::vector<int32_t>> badWords = {};
  uint64_t seed = 0;
  int64_t maxTokens = 256; // of the answer
  int64_t minTokens = 0;   // before an end token, stop token or stop string
  std::vector<int32_t> stopTokens = {};
  std::vector<std::string> stopStrings = {};
  bool ignoreEndTokens = false; // continues after the model's end tokens
  bool keepsStopString = false; // the stop string is part of the answer's text
  bool skipsSpecial = true;     // special tokens have no text
  /// Seconds from the submission to the end of the answer.
  std::optional<double> timeout = {};
  /// The number of likeliest tokens to report with each token; -1: no log
  /// probabilities at all.
  int logprobs = -1;
  /// The same for the tokens of the prompt, from its second on.
  int promptLogprobs = -1;
};

/// An option with a value that it does not take.
struct BadOption {
  std::string field; // `top_p`, as in vLLM's API
  std::string value; // `1.5`
  std::string range; // "above 0 and at most 1"
};

/// All options with invalid values, in the order of SamplingOptions. `vocab` is
/// the number of the model's logits and limits all token ids.
std::vector<BadOption> findBadOptions(const SamplingOptions& options,
                                      int64_t vocab);

/// Fails with one clause for each option; ok where there is none.
Status refusalOf(const std::vector<BadOption>& found);

/// Fails with one clause for each invalid option: "`top_p` is 1.5, but must be
/// above 0 and at most 1".
Status validate(const SamplingOptions& options, int64_t vocab);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLINGOPTIONS_H
