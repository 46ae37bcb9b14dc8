// Chooses the tokens of one answer from the model's logits.
//
// Each token: 1. log probabilities of the raw logits; 2. the rules of
// LogitRules; 3. at temperature 0 the likeliest token, otherwise a draw by
// TokenDraw. This is the order of vLLM's sampler.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLER_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLER_H

#include "runtime/base/Status.h"
#include "runtime/serve/sampling/LogitBlocks.h"
#include "runtime/serve/sampling/LogitRules.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/Softmax.h"
#include "runtime/serve/sampling/TokenConstraint.h"
#include "runtime/serve/sampling/TokenDraw.h"

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// A token of an answer. Log probabilities are natural logarithms of the
/// softmax of the raw logits, before rules and temperature.
struct SampledToken {
  int32_t id = 0;
  float logprob = 0; // 0 unless SamplingOptions::logprobs is at least 0
  /// The likeliest tokens by the raw logits, descending, equal ones by
  /// ascending id; tokens with a logit of -infinity are left out.
  std::vector<std::pair<int32_t, float>> top;
};

class Sampler {
public:
  /// Temperatures below this are 0, as in vLLM.
  static constexpr double greedyBelow = 1e-5;

  /// `options` are valid (see `validate`) for `vocab` logits. `endTokens` are
  /// the model's; they and the stop tokens are not drawn before `minTokens`.
  Sampler(SamplingOptions options, int64_t vocab,
          std::span<const int32_t> prompt, std::set<int32_t> endTokens);

  /// Whether next(), without a constraint, would choose the likeliest token by
  /// the raw logits and report no log probability, so that append() with this
  /// token does the same.
  bool takesLikeliest() const;
  /// Appends a token to the answer.
  SampledToken append(int32_t id);

  /// Chooses the next token, appends it to the answer and passes it to
  /// `constraint->accept`. `logits` [vocab] are changed. `constraint` may be
  /// null. The random number of token i of an answer is a function of the seed
  /// and i, so that an answer does not depend on other requests. Fails when
  /// logits are NaN or +infinity, when the rules leave no token, and when the
  /// constraint fails. After a failure the answer cannot continue.
  Expected<SampledToken> next(std::span<float> logits,
                              TokenConstraint* constraint);

private:
  Status measure(std::span<const float> logits);
  int32_t choose(std::span<const float> logits);
  SampledToken report(int32_t id, std::span<const float> logits) const;
  double uniform() const;

  int logprobs;
  double temperature;
  uint64_t seed;
  int64_t vocab;
  LogitRules rules;
  TokenDraw tokenDraw;
  LogitBlocks blocks;
  // The raw logits where log probabilities are reported.
  std::vector<float> rawLogits; // a copy, where rules change them
  std::vector<Candidate> topLogits;
  double logSum = 0; // logarithm of the sum of their exponentials
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLER_H
