// Draws tokens with the sampler for the tests of its distribution.

#ifndef RECIPERUN_TEST_SERVE_SAMPLING_SAMPLERDRAWS_H
#define RECIPERUN_TEST_SERVE_SAMPLING_SAMPLERDRAWS_H

#include "runtime/serve/sampling/Sampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

namespace reciperun::serve {

constexpr float never = -std::numeric_limits<float>::infinity();

/// The next token; -1, with a test failure, where there is none.
inline int32_t drawNext(Sampler& sampler, std::vector<float> logits,
                        TokenConstraint* constraint = nullptr) {
  const Expected<SampledToken> token = sampler.next(logits, constraint);
  EXPECT_TRUE(token) << token.message();
  return token ? token->id : -1;
}

/// Makes `id` the next token of the answer by logits that allow no other.
inline void force(Sampler& sampler, size_t vocab, int32_t id) {
  std::vector<float> logits(vocab, never);
  logits[size_t(id)] = 0;
  EXPECT_EQ(drawNext(sampler, logits), id);
}

/// The message of the failure of the next token.
inline std::string refusalOf(Sampler& sampler, std::vector<float> logits,
                             TokenConstraint* constraint = nullptr) {
  return sampler.next(logits, constraint).message();
}

inline Sampler samplerOf(const SamplingOptions& options, size_t vocab,
                         std::vector<int32_t> prompt = {},
                         std::set<int32_t> endTokens = {}) {
  return Sampler(options, int64_t(vocab), prompt, std::move(endTokens));
}

} // namespace reciperun::serve

#endif // RECIPERUN_TEST_SERVE_SAMPLING_SAMPLERDRAWS_H
