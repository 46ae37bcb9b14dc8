// Chooses the tokens of one answer from the model's logits.
//
// Each token: 1. log probabilities of the raw logits; 2. the rules of
// LogitRules; 3. at temperature 0 the likeliest token, otherwise a draw by
// kernels::TokenDraw. This is the order of vLLM's sampler.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLER_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLER_H

#include "runtime/base/Status.h"
#include "runtime/serve/sampling/AnswerDraw.h"
#include "runtime/serve/sampling/LogitRules.h"
#include "runtime/serve/sampling/Logprobs.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/TokenConstraint.h"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace reciperun::serve {

class Sampler {
public:
  /// Temperatures below this are 0, as in vLLM.
  static constexpr double greedyBelow = 1e-5;

  /// `options` are valid (see `validate`) for `vocab` logits. `endTokens` are
  /// the model's; they and the stop tokens are not drawn before `minTokens`.
  Sampler(SamplingOptions options, int64_t vocab,
          std::span<const int32_t> prompt, std::set<int32_t> endTokens);

  /// How next() would sample the token from the raw logits, without a
  /// constraint. append() with a token sampled in this way has the same effect.
  /// nullopt if rules change the logits or log probabilities are reported.
  std::optional<AnswerDraw> draw() const;
  /// Appends a token to the answer.
  SampledToken append(int32_t id);

  /// Chooses the next token, appends it to the answer and passes it to
  /// `constraint->accept`. `logits` [vocab] are changed. `constraint` may be
  /// null. Fails when logits are NaN or +infinity, when the rules leave no
  /// token, and when the constraint fails. After a failure the answer cannot
  /// continue.
  Expected<SampledToken> next(std::span<float> logits,
                              TokenConstraint* constraint);

private:
  /// The draw of the next token.
  AnswerDraw nextDraw() const;

  kernels::DrawOptions options;
  uint64_t seed;
  int64_t vocab;
  LogitRules rules;
  kernels::TokenDraw tokenDraw;
  kernels::LogitBlocks blocks;
  std::optional<Logprobs> logprobs; // where they are reported
  std::vector<float> rawLogits;     // for them, where rules change the logits
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLER_H
