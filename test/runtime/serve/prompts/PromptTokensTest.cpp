// Prompts of each kind as ids, and the limits of a plan.

#include "runtime/serve/prompts/PromptTokens.h"

#include "runtime/data/Documents.h"

#include "test/runtime/checkpoint/TestFolder.h"
#include "test/runtime/serve/prompts/ChatTokenizer.h"

namespace reciperun::serve {
namespace {

class PromptTokensTest : public testing::Test {
protected:
  PromptTokensTest() {
    plan.data = chatData();
    plan.serving.emplace();
    plan.serving->maxInput = 40;
  }
  Expected<Ids> of(const PromptContent& content) const {
    Expected<PromptTokens> tokens =
        PromptTokens::open(folder.path(), plan, tokenizer);
    EXPECT_TRUE(tokens) << tokens.message();
    return tokens->of(content, 0);
  }

  checkpoint::TestFolder folder;
  plan::Plan plan;
  data::Tokenizer tokenizer = chatTokenizer();
};

TEST_F(PromptTokensTest, areThoseOfTextsMessagesAndIds) {
  EXPECT_EQ(*of("hello"), *data::encodePrompt(plan.data, tokenizer, "hello"));
  EXPECT_EQ(*of(Ids{1, 2, 300}), (Ids{1, 2, 300}));
  folder.write("chat_template.jinja", "[INST]{{ messages[0].content }}[/INST]");
  ChatInput input;
  addMessage(input, "user", "hello");
  EXPECT_EQ(*of(input), (Ids{307, 259, 308}));
}

TEST_F(PromptTokensTest, areWithinTheLimits) {
  EXPECT_EQ(of(Ids{}).message(), "the prompt has no token; write a text");
  plan.serving->maxTokens = 80;
  EXPECT_EQ(of(Ids(41, 1)).message(),
            "the prompt has 41 tokens, but the plan takes 40; shorten it, or "
            "compile with a larger `serve.max_input`");
  plan.serving->maxTokens = 40;
  EXPECT_EQ(of(Ids(41, 1)).message(),
            "the prompt has 41 tokens, but the plan takes 40; shorten it, or "
            "compile with a larger `data.sequence`, of at most the model's "
            "`max_positions`");
  EXPECT_TRUE(of(Ids(40, 1)));
  for (const int32_t id : {-1, 312})
    EXPECT_EQ(of(Ids{1, id}).message(),
              "token " + std::to_string(id) +
                  " is outside the model's vocabulary of 312; encode with the "
                  "model's own tokenizer");
  plan.data.vocab = 259;
  EXPECT_NE(of("hello").message().find("the model's `vocab` is 259"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::serve
