// Checks each option in turn and collects those with invalid values.

#include "runtime/serve/sampling/SamplingOptions.h"

#include "runtime/data/Utf8.h"
#include "runtime/serve/sampling/SamplingRanges.h"

namespace reciperun::serve {
namespace {

/// Collects invalid options.
class OptionCheck {
public:
  explicit OptionCheck(int64_t vocab) : vocab(vocab) {}

  void number(const SamplingRange& range, double value) {
    if (!range.contains(value))
      bad(std::string(range.field), shortestText(value), range.text());
  }
  void whole(const SamplingRange& range, int64_t value) {
    if (!range.contains(double(value)))
      bad(std::string(range.field), std::to_string(value), range.text());
  }
  void tokenId(const std::string& field, int32_t id) {
    if (id < 0 || id >= vocab)
      bad(field, std::to_string(id),
          "a token id from 0 to " + std::to_string(vocab - 1) +
              ", of the model's own tokenizer");
  }
  void bad(std::string field, std::string value, std::string range) {
    found.push_back({std::move(field), std::move(value), std::move(range)});
  }

  std::vector<BadOption> found;

private:
  int64_t vocab;
};

void checkTokenLists(const SamplingOptions& options, OptionCheck& check) {
  for (const auto& [id, value] : options.logitBias) {
    check.tokenId("logit_bias", id);
    check.number(logitBiasRange, value);
  }
  for (const std::vector<int32_t>& word : options.badWords) {
    if (word.empty())
      check.bad("bad_words", "a word without tokens", "a word with a token");
    for (int32_t id : word)
      check.tokenId("bad_words", id);
  }
}

void checkLengths(const SamplingOptions& options, OptionCheck& check) {
  check.whole(maxTokensRange, options.maxTokens);
  check.whole(minTokensRange, options.minTokens);
  if (options.maxTokens >= 1 && options.minTokens > options.maxTokens)
    check.bad("min_tokens", std::to_string(options.minTokens),
              "at most `max_tokens` = " + std::to_string(options.maxTokens));
}

void checkStops(const SamplingOptions& options, OptionCheck& check) {
  for (int32_t id : options.stopTokens)
    check.tokenId("stop_token_ids", id);
  for (const std::string& stop : options.stopStrings) {
    if (stop.empty())
      check.bad("stop", "an empty string", "at least one character");
    if (data::firstIllFormed(stop) != std::string_view::npos)
      check.bad("stop", "`" + data::replaceIllFormed(stop) + "`",
                "UTF-8 (its byte " +
                    std::to_string(data::firstIllFormed(stop) + 1) +
                    " is not)");
  }
}

} // namespace

std::vector<BadOption> findBadOptions(const SamplingOptions& options,
                                      int64_t vocab) {
  OptionCheck check(vocab);
  check.number(temperatureRange, options.temperature);
  check.whole(topKRange, options.topK);
  check.number(topPRange, options.topP);
  check.number(minPRange, options.minP);
  check.number(repetitionPenaltyRange, options.repetitionPenalty);
  check.number(presencePenaltyRange, options.presencePenalty);
  check.number(frequencyPenaltyRange, options.frequencyPenalty);
  checkTokenLists(options, check);
  checkLengths(options, check);
  checkStops(options, check);
  if (options.timeout)
    check.number(timeoutRange, *options.timeout);
  for (auto [name, count] :
       {std::pair("logprobs", options.logprobs),
        std::pair("prompt_logprobs", options.promptLogprobs)})
    if (count < -1 || count > vocab)
      check.bad(name, std::to_string(count),
                "from 0 to the vocabulary's " + std::to_string(vocab) +
                    " tokens, or -1 for none");
  return check.found;
}

Status validate(const SamplingOptions& options, int64_t vocab) {
  return refusalOf(findBadOptions(options, vocab));
}

Status refusalOf(const std::vector<BadOption>& found) {
  std::string text;
  for (const BadOption& each : found)
    text += (text.empty() ? "`" : "; `") + each.field + "` is " + each.value +
            ", but must be " + each.range;
  return text.empty() ? Status::ok() : Status::error(text);
}

} // namespace reciperun::serve
