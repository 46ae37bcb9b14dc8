// A conversation, in the form of OpenAI's chat completions.

#ifndef RECIPERUN_SERVE_PROMPTS_CHATINPUT_H
#define RECIPERUN_SERVE_PROMPTS_CHATINPUT_H

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace reciperun::serve {

struct ChatInput {
  /// A list of objects with `role` and `content`, and with whatever else the
  /// template reads (`tool_calls`, `name`).
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  /// The functions that the model may call; null or a list.
  nlohmann::ordered_json tools = nullptr;
  /// Further variables of the template; null or an object.
  nlohmann::ordered_json variables = nullptr;
  /// Ends the prompt where an assistant's answer begins.
  bool addGenerationPrompt = true;
  /// Ends the prompt with the text of the last message, which the answer
  /// continues. Excludes `addGenerationPrompt`.
  bool continuesFinal = false;
};

/// Appends a message with a text.
void addMessage(ChatInput& input, std::string_view role,
                std::string_view content);

/// Checks the fields and brings them to the form that templates expect: a
/// content of several text parts becomes one text with line breaks between the
/// parts, and the JSON text of a tool call's `arguments` becomes an object.
/// Roles are those of a chat and those that `source`, the template, has as a
/// string. Fails with the field that is wrong.
Expected<ChatInput> checkedInput(const ChatInput& input,
                                 std::string_view source);

/// The conversation of a JSON object with `messages`, and with or without
/// `tools`, `chat_template_kwargs`, `add_generation_prompt` and
/// `continue_final_message`. Leaves the contents of the lists to checkedInput.
Expected<ChatInput> readChatInput(const nlohmann::ordered_json& object);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_CHATINPUT_H
