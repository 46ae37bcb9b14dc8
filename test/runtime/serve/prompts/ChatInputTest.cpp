// The checks of conversations name the field that is wrong.

#include "runtime/serve/prompts/ChatInput.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// The failure for an object with `messages`.
std::string refusal(const char* text) {
  Expected<ChatInput> input = readChatInput(OrderedJson::parse(text));
  return input ? checkedInput(*input, "").message() : input.message();
}

TEST(ChatInput, isReadFromAnObject) {
  Expected<ChatInput> input = readChatInput(OrderedJson::parse(
      R"({"messages": [{"role": "user", "content": "x"}], "tools": [{}],
          "chat_template_kwargs": {"a": 1}, "add_generation_prompt": false})"));
  ASSERT_TRUE(input) << input.message();
  EXPECT_EQ(input->messages.size(), 1u);
  EXPECT_EQ(input->tools.size(), 1u);
  EXPECT_EQ(input->variables["a"], 1);
  EXPECT_FALSE(input->addGenerationPrompt);
}

TEST(ChatInput, namesTheWrongField) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "the field `messages` is missing"},
      {R"({"messages": "x"})",
       "the field `messages` is a text where a list of messages is due"},
      {R"({"messages": []})", "the field `messages` is an empty list"},
      {R"({"messages": [3]})", "the field `messages[0]` is a number where an "
                               "object with `role` and `content` is due"},
      {R"({"messages": [{"content": "x"}]})",
       "the field `messages[0].role` is missing"},
      {R"({"messages": [{"role": 1, "content": "x"}]})",
       "the field `messages[0].role` is a number where a text is due"},
      {R"({"messages": [{"role": "user"}]})",
       "the field `messages[0].content` is missing"},
      {R"({"messages": [{"role": "user", "content": null}]})",
       "the field `messages[0].content` is null where a text is due"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
       "the field `messages[0].content[0]` is of type `image_url`, but the "
       "model reads text only"},
      {R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})",
       "the field `messages[0].content[0].text` is missing where a text is "
       "due"},
      {R"({"messages": [{"role": "assistant", "tool_calls": [
           {"function": {"arguments": "{"}}]}]})",
       "the field `messages[0].tool_calls[0].function.arguments`: "},
      {R"({"messages": [{"role": "user", "content": "x"}], "tools": {}})",
       "the field `tools` is an object where a list of functions is due"},
      {R"({"messages": [{"role": "user", "content": "x"}],
           "chat_template_kwargs": {"messages": []}})",
       "`chat_template_kwargs` has `messages`, which is a field beside it"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(refusal(text).find(message), 0u) << text << "\n" << refusal(text);
}

} // namespace
} // namespace reciperun::serve
