// The choice between the templates of a folder and `data.chat`.

#include "runtime/serve/prompts/MessageRenderer.h"

#include "runtime/checkpoint/ChatTemplate.h"
#include "runtime/data/Documents.h"

#include "test/runtime/checkpoint/TestFolder.h"
#include "test/runtime/serve/prompts/ChatTokenizer.h"

namespace reciperun::serve {
namespace {

using checkpoint::TestFolder;

class MessageRendererTest : public testing::Test {
protected:
  MessageRenderer open() const {
    Expected<MessageRenderer> made =
        MessageRenderer::open(folder.path(), data, tokenizer);
    EXPECT_TRUE(made) << made.message();
    return *std::move(made);
  }
  Ids encode(const ChatInput& input) const {
    Expected<Ids> ids = open().encode(input, 0);
    EXPECT_TRUE(ids) << ids.message();
    return ids ? *ids : Ids{};
  }
  static ChatInput user(const char* content) {
    ChatInput input;
    addMessage(input, "user", content);
    return input;
  }

  TestFolder folder;
  plan::Data data = trainedOnMessages();
  data::Tokenizer tokenizer = chatTokenizer();
};

TEST_F(MessageRendererTest, writesMessagesAsInTraining) {
  EXPECT_FALSE(open().guessesForm());
  EXPECT_EQ(encode(user("hello")),
            *data::encodePrompt(data, tokenizer, "hello"));
  EXPECT_EQ(*open().render(user("hello"), 0),
            "<s><|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n");
  // Also where the export wrote the template of the training.
  folder.write("chat_template.jinja",
               checkpoint::jinjaTemplate(data.chat, "<s>", "</s>"));
  EXPECT_EQ(encode(user("he<|im_end|>llo")),
            *data::encodePrompt(data, tokenizer, "he<|im_end|>llo"));
  EXPECT_EQ(*open().render(user("hello"), 0),
            "<s><|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(MessageRendererTest, endsWithinAMessageThatIsContinued) {
  ChatInput input = user("hello");
  addMessage(input, "assistant", "so ");
  input.addGenerationPrompt = false;
  input.continuesFinal = true;
  EXPECT_EQ(*open().render(input, 0),
            "<s><|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nso ");
}

TEST_F(MessageRendererTest, saysWhereItGuessesTheForm) {
  data = chatData();
  EXPECT_TRUE(open().guessesForm());
  folder.write("chat_template.jinja", "{{ messages[0].content }}");
  EXPECT_FALSE(open().guessesForm());
}

TEST_F(MessageRendererTest, hasNoPlaceForToolsWithoutATemplate) {
  ChatInput input = user("x");
  input.tools = {{{"name", "f"}}};
  EXPECT_EQ(open().encode(input, 0).message(),
            "the conversation has `tools`, but the form of messages, "
            "`data.chat` of the recipe, has no place for them; add a "
            "`chat_template.jinja` that has one to the model's folder");
}

TEST_F(MessageRendererTest, choosesTheTemplateForTools) {
  folder.write("tokenizer_config.json", R"({"chat_template": [
    {"name": "default", "template": "plain"},
    {"name": "tool_use", "template": "with tools"}]})");
  ChatInput input = user("x");
  EXPECT_EQ(*open().render(input, 0), "plain");
  input.tools = {{{"name", "f"}}};
  EXPECT_EQ(*open().render(input, 0), "with tools");
}

TEST_F(MessageRendererTest, failsWhereItsTemplateIsUsed) {
  folder.write("tokenizer_config.json", R"({"chat_template": [
    {"name": "default", "template": "fine"},
    {"name": "tool_use", "template": "{% if %}"}]})");
  ChatInput input = user("x");
  EXPECT_EQ(*open().render(input, 0), "fine");
  input.tools = {{{"name", "f"}}};
  EXPECT_NE(open().render(input, 0).message().find("chat template: line 1"),
            std::string::npos);
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "rag", "template": "x"}]})");
  EXPECT_EQ(open().encode(user("x"), 0).message(),
            "the model's folder has chat templates, the first one named `rag`, "
            "but none named `default`; name the one to use so");
}

} // namespace
} // namespace reciperun::serve
