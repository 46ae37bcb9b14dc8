// The steps of one token, in the order that the header states.

#include "runtime/serve/sampling/Sampler.h"

#include <cassert>
#include <limits>

namespace reciperun::serve {

Sampler::Sampler(SamplingOptions options, int64_t vocab,
                 std::span<const int32_t> prompt, std::set<int32_t> endTokens)
    : options{.topK = options.topK, .topP = options.topP, .minP = options.minP},
      seed(options.seed), vocab(vocab),
      rules(options, vocab, prompt, endTokens) {
  if (options.temperature >= greedyBelow)
    this->options.temperature = options.temperature;
  if (options.logprobs >= 0)
    logprobs.emplace(options.logprobs);
  assert(validate(options, vocab).isOk() && "options are checked before");
}

AnswerDraw Sampler::nextDraw() const {
  return {options, seed, rules.answerTokens()};
}

std::optional<AnswerDraw> Sampler::draw() const {
  if (logprobs || rules.areActive())
    return std::nullopt;
  return nextDraw();
}

SampledToken Sampler::append(int32_t id) {
  rules.append(id);
  return {.id = id};
}

Expected<SampledToken> Sampler::next(std::span<float> logits,
                                     TokenConstraint* constraint) {
  assert(int64_t(logits.size()) == vocab);
  const bool changesLogits = constraint || rules.areActive();
  if (logprobs) {
    RECIPERUN_TRY(logprobs->measure(logits, blocks));
    if (changesLogits)
      rawLogits.assign(logits.begin(), logits.end());
  }
  if (changesLogits)
    RECIPERUN_TRY(rules.apply(logits, constraint));
  if (changesLogits || !logprobs)
    RECIPERUN_TRY(blocks.scan(logits));
  if (blocks.highest() == -std::numeric_limits<float>::infinity())
    return Status::error("no token of " + std::to_string(vocab) +
                         " may be token " +
                         std::to_string(rules.answerTokens() + 1) +
                         " of the answer: all are banned by " +
                         rules.describeBans(constraint != nullptr));
  const AnswerDraw draw = nextDraw();
  const int32_t id =
      tokenDraw.draw(draw.options, logits, blocks, draw.uniform());
  if (constraint)
    RECIPERUN_TRY(constraint->accept(id));
  rules.append(id);
  if (!logprobs)
    return SampledToken{.id = id};
  return logprobs->of(id, changesLogits ? std::span<const float>(rawLogits)
                                        : std::span<const float>(logits));
}

} // namespace reciperun::serve
