// A grammar as the constraint of an answer.

#include "runtime/serve/structured/GrammarConstraint.h"

#include "runtime/grammar/Choices.h"
#include "test/runtime/Says.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

constexpr int32_t endToken = 301;
constexpr int64_t vocab = 320; // more logits than tokens

class GrammarConstraintTest : public testing::Test {
protected:
  static GrammarConstraint choices(std::vector<std::string> texts,
                                   int64_t size = vocab) {
    auto tokenizer =
        data::Tokenizer::parse(data::smallTokenizer().dump(), "small");
    auto automaton =
        grammar::Automaton::compile(*grammar::rulesOfChoices(texts));
    return GrammarConstraint(
        std::make_shared<grammar::MaskTable>(
            std::make_shared<const grammar::Automaton>(std::move(*automaton)),
            vocabularyOf(*tokenizer, size)),
        {endToken});
  }

  static std::vector<int32_t> allowed(TokenConstraint& constraint) {
    std::vector<uint32_t> mask((vocab + 31) / 32, 0xFFFFFFFF);
    EXPECT_EQ(constraint.fillMask(mask).message(), "");
    std::vector<int32_t> ids;
    for (int32_t id = 0; id < int32_t(mask.size() * 32); ++id)
      if (mask[size_t(id) / 32] >> (id % 32) & 1)
        ids.push_back(id);
    return ids;
  }
};

TEST_F(GrammarConstraintTest, AllowsTheEndWhereTheGrammarDoes) {
  GrammarConstraint constraint = choices({"hello", "hello world"});
  // `h`, `he`, `hell`, `hello`
  EXPECT_EQ(allowed(constraint), (std::vector<int32_t>{'h', 256, 258, 259}));
  EXPECT_FALSE(constraint.isComplete());
  EXPECT_PRED2(says, constraint.accept(endToken).message(),
               "token 301 ends the answer before the grammar is complete");
  EXPECT_TRUE(constraint.accept(259).isOk());
  EXPECT_TRUE(constraint.isComplete());
  // ` `, ` w`, ` wo` and the end
  EXPECT_EQ(allowed(constraint),
            (std::vector<int32_t>{' ', 260, 261, endToken}));
  EXPECT_TRUE(constraint.accept(endToken).isOk());
  EXPECT_EQ(allowed(constraint), (std::vector<int32_t>{endToken}));
  EXPECT_PRED2(says, constraint.accept(260).message(),
               "token 260 follows the end of the answer");
}

TEST_F(GrammarConstraintTest, RefusesOtherTokens) {
  GrammarConstraint constraint = choices({"hello"});
  EXPECT_PRED2(says, constraint.accept('x').message(),
               "token 120: `x` does not continue the text from its byte 1 on");
  EXPECT_PRED2(says, constraint.accept(300).message(), "token 300 has no text");
  EXPECT_PRED2(says, constraint.accept(4000).message(),
               "token 4000 is outside of the vocabulary of 320");
  EXPECT_TRUE(constraint.accept(259).isOk()); // as if nothing had happened
}

TEST_F(GrammarConstraintTest, FailsWhenNoTokenGoesOn) {
  GrammarConstraint constraint = choices({"xyz"}, /*size=*/'x');
  std::vector<uint32_t> mask(('x' + 31) / 32);
  EXPECT_PRED2(says, constraint.fillMask(mask).message(),
               "no token of the vocabulary goes on");
  std::vector<uint32_t> wrong(1);
  EXPECT_PRED2(says, constraint.fillMask(wrong).message(),
               "the mask has 1 words");
}

} // namespace
} // namespace reciperun::serve
