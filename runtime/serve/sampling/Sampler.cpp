// The steps of one token, in the order that the header states.

#include "runtime/serve/sampling/Sampler.h"

#include "runtime/kernels/common/Philox.h"

#include <cassert>
#include <limits>

namespace reciperun::serve {

Sampler::Sampler(SamplingOptions options, int64_t vocab,
                 std::span<const int32_t> prompt, std::set<int32_t> endTokens)
    : temperature(options.temperature), seed(options.seed), vocab(vocab),
      rules(options, vocab, prompt, endTokens), tokenDraw(options) {
  if (options.logprobs >= 0)
    logprobs.emplace(options.logprobs);
  assert(validate(options, vocab).isOk() && "options are checked before");
}

bool Sampler::takesLikeliest() const {
  return temperature < greedyBelow && !logprobs && !rules.areActive();
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
  const int32_t id = choose(logits);
  if (constraint)
    RECIPERUN_TRY(constraint->accept(id));
  rules.append(id);
  if (!logprobs)
    return SampledToken{.id = id};
  return logprobs->of(id, changesLogits ? std::span<const float>(rawLogits)
                                        : std::span<const float>(logits));
}

int32_t Sampler::choose(std::span<const float> logits) {
  if (temperature < greedyBelow)
    return blocks.likeliest(logits);
  return tokenDraw.draw(logits, blocks, uniform());
}

/// Uniform in [0, 1), 53 bits, of the next token of the answer.
double Sampler::uniform() const {
  const kernels::PhiloxCounter words =
      kernels::philox(kernels::philoxCounter(uint64_t(rules.answerTokens())),
                      kernels::philoxKey(seed, kernels::streamOf("generate")));
  const uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return double(bits >> 11) * 0x1p-53;
}

} // namespace reciperun::serve
