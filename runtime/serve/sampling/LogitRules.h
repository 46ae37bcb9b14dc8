// The rules that change logits before a token is drawn.
//
// In this order, as in vLLM: 1. tokens that the constraint does not allow,
// 2. end and stop tokens before `min_tokens`, 3. last tokens of bad words (each
// becomes -infinity); 4. logit bias; 5. repetition penalty of the prompt and
// the answer; 6. frequency and presence penalty of the answer.

#ifndef RECIPERUN_SERVE_SAMPLING_LOGITRULES_H
#define RECIPERUN_SERVE_SAMPLING_LOGITRULES_H

#include "runtime/base/Status.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/TokenConstraint.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace reciperun::serve {

class LogitRules {
public:
  /// `options` are valid for a vocabulary of `vocab` tokens. Ids of the prompt
  /// outside the vocabulary have no penalty.
  LogitRules(const SamplingOptions& options, int64_t vocab,
             std::span<const int32_t> prompt,
             const std::set<int32_t>& endTokens);

  /// Whether `apply` would change logits now, apart from a constraint.
  bool areActive() const;
  /// Changes the logits of the next token. `constraint` may be null. Fails when
  /// the constraint does.
  Status apply(std::span<float> logits, TokenConstraint* constraint);
  /// Appends a token to the answer.
  void append(int32_t id);

  /// The number of tokens of the answer.
  int64_t answerTokens() const { return int64_t(answer.size()); }
  /// Describes the rules that ban tokens now, for the error that no token is
  /// left.
  std::string describeBans(bool hasConstraint) const;

private:
  /// A token of the prompt or the answer.
  struct SeenToken {
    int32_t id;
    int64_t inAnswer; // occurrences
  };

  Status allowOnly(std::span<float> logits, TokenConstraint& constraint);
  void banBadWords(std::span<float> logits) const;
  void penalize(std::span<float> logits) const;
  SeenToken& seenToken(int32_t id);
  bool hasPenalties() const;

  // The parts of SamplingOptions.
  double repetitionPenalty, presencePenalty, frequencyPenalty;
  std::vector<std::pair<int32_t, float>> logitBias;
  std::vector<std::vector<int32_t>> badWords;
  int64_t minTokens;

  int64_t vocab;
  std::set<int32_t> endings; // end and stop tokens
  std::vector<int32_t> answer;
  std::vector<SeenToken> seen; // in the order of their first occurrence
  std::unordered_map<int32_t, size_t> seenIndex; // by id
  std::vector<uint32_t> allowed;                 // the constraint's mask
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_LOGITRULES_H
