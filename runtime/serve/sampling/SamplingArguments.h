// The sampling options of a command line, under vLLM's names.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLINGARGUMENTS_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLINGARGUMENTS_H

#include "runtime/base/Status.h"
#include "runtime/cli/Command.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/serve/sampling/SamplingOptions.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// The values as given; nullopt or empty where an option is not given.
struct SamplingArguments {
  std::optional<double> temperature, topP, minP;
  std::optional<double> repetitionPenalty, presencePenalty, frequencyPenalty;
  std::optional<int64_t> topK, maxTokens, minTokens;
  std::optional<double> timeout; // seconds
  uint64_t seed = 0;
  int64_t n = 1; // answers to the prompt
  std::vector<std::pair<int32_t, float>> logitBias;
  std::vector<std::string> badWords, stopStrings;
  std::vector<int32_t> stopTokens;
  bool ignoreEndTokens = false;
  int logprobs = -1, promptLogprobs = -1;
  bool generationConfig = false; // use the model's generation_config.json
  /// The fields that a line of a prompt file gave, such as `stop_token_ids`.
  std::vector<std::string> fieldsOfLine;
};

/// The command-line options, under the heading `sampling`. They store their
/// values in `arguments`, which must outlive them.
std::vector<cli::Option> describeSampling(SamplingArguments& arguments);

/// The options among these that shape the distribution of each token:
/// temperature, filters and penalties.
std::vector<cli::Option> describeDistribution(SamplingArguments& arguments);

/// The sampling options of a request, from the options of
/// describeDistribution(). The default temperature is 0 (greedy), or 1 if
/// top-k, top-p or min-p is given.
SamplingOptions distributionOf(const SamplingArguments& arguments);

/// The sampling options of a request: the given values, then those of
/// generation_config.json in the model's directory if
/// `arguments.generationConfig` is set, then the defaults. The default
/// temperature is 0 (greedy), or 1 if top-k, top-p or min-p is given. Fails
/// when the file cannot be used, a bad word has no token, a value is invalid
/// for `vocab` logits, or several answers would be equal.
Expected<SamplingOptions>
samplingOptionsOf(const SamplingArguments& arguments,
                  const std::filesystem::path& modelDirectory,
                  const data::Tokenizer& tokenizer, int64_t vocab);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLINGARGUMENTS_H
