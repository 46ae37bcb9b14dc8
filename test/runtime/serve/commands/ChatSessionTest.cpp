// Turns of a conversation: what is sent, what is kept, and how answers end.

#include "runtime/serve/commands/ChatSession.h"

#include "test/runtime/checkpoint/TestFolder.h"
#include "test/runtime/serve/prompts/ChatTokenizer.h"

#include <limits>

namespace reciperun::serve {
namespace {

/// A model whose answers are the characters of a text, one after the other.
class ScriptedModel : public StepModel {
public:
  explicit ScriptedModel(std::string script) : script(std::move(script)) {}

  int64_t vocab() const override { return 312; }
  Status start(const StepPlan& step) override {
    reads = readsOf(step);
    for (const StepPart& part : step.parts)
      computed += int64_t(part.ids.size());
    if (step.rows > 0)
      next = script[at++ % script.size()];
    return {};
  }
  /// `$` is the end token, `!` makes the logits NaN. Answers take the likeliest
  /// token.
  Status finish(StepResults& results) override {
    results.resize(reads, vocab());
    std::ranges::fill(results.chosen, next == '!' ? -1 : token());
    return {};
  }
  int32_t token() const { return next == '$' ? 301 : next; }

  std::string script;
  size_t at = 0;
  char next = 0;
  StepReads reads;
  int64_t computed = 0; // tokens
};

class ChatSessionTest : public testing::Test {
protected:
  ChatSessionTest() {
    plan.data = trainedOnMessages();
    plan.serving.emplace();
    plan::Serving& limits = *plan.serving;
    limits.maxBatch = 1;
    limits.maxInput = limits.maxOutput = limits.maxTokens = 128;
    limits.tokenBudget = 128;
    limits.page = 4;
    limits.pages = 64;
    limits.prefixCache = limits.chunkedPrefill = true;
    for (const int64_t tokens : {1, 128}) {
      plan::Bucket bucket;
      bucket.tokens = tokens;
      bucket.rows = 1;
      limits.buckets.push_back(bucket);
    }
    sampling.temperature = 0;
    sampling.maxTokens = 20;
  }

  /// A session with a model that answers by `script`.
  ChatSession& open(const std::string& script) {
    auto made = std::make_unique<ScriptedModel>(script);
    model = made.get();
    engine.emplace(std::move(made), *plan.serving, std::set<int32_t>{301});
    Expected<PromptTokens> opened =
        PromptTokens::open(folder.path(), plan, tokenizer);
    EXPECT_TRUE(opened) << opened.message();
    prompts.emplace(*std::move(opened));
    session.emplace(*engine, *prompts, tokenizer, sampling);
    session->reset();
    return *session;
  }
  /// Answers, and stops once so many bytes are shown.
  Expected<FinishReason> answer(const std::string& message,
                                size_t bytes = 1000) {
    shown.clear();
    return session->answer(
        message, {.piece = [&](std::string_view piece) { shown += piece; },
                  .isStopped = [&] { return shown.size() >= bytes; }});
  }
  std::string contents() const {
    std::string all;
    for (const auto& message : session->conversation().messages)
      all += message["role"].get<std::string>() + "=" +
             message["content"].get<std::string>() + ";";
    return all;
  }

  checkpoint::TestFolder folder;
  plan::Plan plan;
  data::Tokenizer tokenizer = chatTokenizer();
  SamplingOptions sampling;
  ScriptedModel* model = nullptr;
  std::optional<Engine> engine;
  std::optional<PromptTokens> prompts;
  std::optional<ChatSession> session;
  std::string shown;
};

TEST_F(ChatSessionTest, keepsTheConversation) {
  open("ab$c$").setSystem("be brief");
  EXPECT_EQ(*answer("x"), FinishReason::endToken);
  EXPECT_EQ(shown, "ab");
  EXPECT_EQ(*answer("y"), FinishReason::endToken);
  EXPECT_EQ(shown, "c");
  EXPECT_EQ(contents(), "system=be brief;user=x;assistant=ab;user=y;"
                        "assistant=c;");
  session->reset();
  EXPECT_EQ(contents(), "system=be brief;");
  session->setSystem("");
  EXPECT_EQ(contents(), "");
}

TEST_F(ChatSessionTest, computesOnlyNewTokensOfATurn) {
  open("ab$");
  ASSERT_TRUE(answer("a message of some length, to fill pages"));
  const int64_t first = model->computed;
  ASSERT_TRUE(answer("x"));
  const int64_t second = model->computed - first;
  const auto all = prompts->of(session->conversation(), 0);
  ASSERT_TRUE(all) << all.message();
  EXPECT_GT(int64_t(all->size()), first);
  EXPECT_LT(second, int64_t(all->size()) - first + 16);
}

TEST_F(ChatSessionTest, keepsWhatAStoppedAnswerSaid) {
  open("abcdefgh");
  EXPECT_EQ(*answer("x", 3), FinishReason::cancelled);
  EXPECT_EQ(shown, "abc");
  EXPECT_EQ(contents(), "user=x;assistant=abc;");
  EXPECT_TRUE(engine->isIdle());
}

TEST_F(ChatSessionTest, endsAtLimitsAndStopStrings) {
  sampling.maxTokens = 3;
  open("abcdef");
  EXPECT_EQ(*answer("x"), FinishReason::tokenLimit);
  EXPECT_EQ(shown, "abc");
  sampling.maxTokens = 20;
  sampling.stopStrings = {"cd"};
  open("abcdef");
  EXPECT_EQ(*answer("x"), FinishReason::stopString);
  EXPECT_EQ(shown, "ab");
}

TEST_F(ChatSessionTest, forgetsAMessageWithoutAnAnswer) {
  open("ab!c$");
  EXPECT_NE(answer("x").message().find("not finite"), std::string::npos);
  EXPECT_EQ(contents(), "");
  EXPECT_EQ(answer(std::string(200, 'x')).message(),
            "the prompt has 220 tokens, but the plan takes 128; shorten it, or "
            "compile with a larger `data.sequence`, of at most the model's "
            "`max_positions`");
  EXPECT_EQ(contents(), "");
  EXPECT_EQ(*answer("y"), FinishReason::endToken);
  EXPECT_EQ(contents(), "user=y;assistant=c;");
}

} // namespace
} // namespace reciperun::serve
