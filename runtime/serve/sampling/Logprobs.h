// Log probabilities of tokens: natural logarithms of the softmax of a model's
// raw logits, before rules and temperature.

#ifndef RECIPERUN_SERVE_SAMPLING_LOGPROBS_H
#define RECIPERUN_SERVE_SAMPLING_LOGPROBS_H

#include "runtime/base/Status.h"
#include "runtime/kernels/sampling/LogitBlocks.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// A token of a prompt or an answer.
struct SampledToken {
  int32_t id = 0;
  float logprob = 0; // 0 unless log probabilities are asked for
  /// The number of tokens that are as likely or likelier, itself included; 0
  /// unless log probabilities are asked for.
  int64_t rank = 0;
  /// The likeliest tokens, descending, equal ones by ascending id; tokens with
  /// a logit of -infinity are left out.
  std::vector<std::pair<int32_t, float>> top = {};
};

class Logprobs {
public:
  /// Reports the token itself and the `top` likeliest ones.
  explicit Logprobs(int top) : top(top) {}

  /// Measures the logits of a row, by a scan of `blocks`. Fails when one is NaN
  /// or +infinity.
  Status measure(std::span<const float> logits, kernels::LogitBlocks& blocks);

  /// The log probability and the rank of the token `id`. `logits` are those of
  /// the last measure().
  SampledToken of(int32_t id, std::span<const float> logits) const;

private:
  int top;
  std::vector<kernels::Candidate> topLogits;
  double logSum = 0; // logarithm of the sum of the logits' exponentials
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_LOGPROBS_H
