// Guesses follow the latest earlier occurrence of the longest n-gram.

#include "runtime/serve/engine/NgramDraft.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

using Tokens = std::vector<int32_t>;

TEST(NgramDraft, FollowsTheLatestOccurrence) {
  NgramDraft draft;
  Tokens tokens = {1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 1, 2, 3};
  EXPECT_EQ(draft.propose(tokens, 4), (Tokens{6, 7, 1, 2}));
  EXPECT_EQ(draft.propose(tokens, 1), (Tokens{6}));
  // It goes on where it was.
  tokens.insert(tokens.end(), {4, 8, 1, 2, 3});
  EXPECT_EQ(draft.propose(tokens, 2), (Tokens{4, 8}));
}

TEST(NgramDraft, FallsBackToTwoTokens) {
  NgramDraft draft;
  EXPECT_EQ(draft.propose(Tokens{9, 2, 3, 4, 5, 8, 2, 3}, 3),
            (Tokens{4, 5, 8}));
}

TEST(NgramDraft, PrefersThreeTokensToALaterPair) {
  NgramDraft draft;
  EXPECT_EQ(draft.propose(Tokens{1, 2, 3, 4, 7, 2, 3, 9, 1, 2, 3}, 1),
            (Tokens{4}));
}

TEST(NgramDraft, ContinuesARun) {
  NgramDraft draft;
  EXPECT_EQ(draft.propose(Tokens{5, 5, 5, 5}, 4), (Tokens{5, 5, 5, 5}));
  NgramDraft other;
  EXPECT_EQ(other.propose(Tokens{8, 1, 2, 8, 1, 2}, 5),
            (Tokens{8, 1, 2, 8, 1}));
}

TEST(NgramDraft, HasNoGuessWithoutAnOccurrence) {
  NgramDraft draft;
  EXPECT_EQ(draft.propose(Tokens{}, 4), Tokens());
  EXPECT_EQ(draft.propose(Tokens{1}, 4), Tokens());
  EXPECT_EQ(draft.propose(Tokens{1, 2, 3, 4}, 4), Tokens());
}

} // namespace
} // namespace reciperun::serve
