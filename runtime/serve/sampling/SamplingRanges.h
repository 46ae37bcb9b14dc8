// The ranges of the numeric sampling options, shared by the checks of a request
// and of a command line. Names and ranges are those of vLLM's SamplingParams.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLINGRANGES_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLINGRANGES_H

#include <limits>
#include <string>
#include <string_view>

namespace reciperun::serve {

/// The finite numbers that an option accepts.
struct SamplingRange {
  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  std::string_view field; // `top_p`
  double least = 0;
  double most = unbounded;
  bool excludesLeast = false;

  /// False for NaN and infinity.
  bool contains(double value) const;
  /// "above 0 and at most 1", to follow "must be".
  std::string text() const;
};

inline constexpr SamplingRange temperatureRange = {"temperature"};
inline constexpr SamplingRange topKRange = {"top_k"};
inline constexpr SamplingRange topPRange = {"top_p", 0, 1, true};
inline constexpr SamplingRange minPRange = {"min_p", 0, 1};
inline constexpr SamplingRange repetitionPenaltyRange = {
    "repetition_penalty", 0, SamplingRange::unbounded, true};
inline constexpr SamplingRange presencePenaltyRange = {"presence_penalty", -2,
                                                       2};
inline constexpr SamplingRange frequencyPenaltyRange = {"frequency_penalty", -2,
                                                        2};
inline constexpr SamplingRange logitBiasRange = {"logit_bias", -100, 100};
inline constexpr SamplingRange maxTokensRange = {"max_tokens", 1};
inline constexpr SamplingRange minTokensRange = {"min_tokens"};

/// At most a year.
inline constexpr SamplingRange timeoutRange = {"timeout", 0, 31536000, true};

/// The shortest decimal text that reads back as the same number.
std::string shortestText(double value);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLINGRANGES_H
