// A conversation with a model. Each turn renders the whole conversation again;
// the engine's prefix cache has the pages of the earlier turns.

#ifndef RECIPERUN_SERVE_COMMANDS_CHATSESSION_H
#define RECIPERUN_SERVE_COMMANDS_CHATSESSION_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/serve/engine/Engine.h"
#include "runtime/serve/prompts/ChatInput.h"
#include "runtime/serve/prompts/PromptTokens.h"
#include "runtime/serve/sampling/SamplingOptions.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace reciperun::serve {

class ChatSession {
public:
  /// The references must outlive the object.
  ChatSession(Engine& engine, const PromptTokens& prompts,
              const data::Tokenizer& tokenizer, SamplingOptions sampling)
      : engine(engine), prompts(prompts), tokenizer(tokenizer),
        sampling(std::move(sampling)) {}

  /// The variables of the chat template: null or an object.
  void setVariables(nlohmann::ordered_json variables) {
    input.variables = std::move(variables);
  }
  /// Sets the system message, none when it is empty, and forgets the
  /// conversation.
  void setSystem(std::string text);
  /// Answers with the adapter of this name from now on; with the model alone
  /// when it is empty. Fails when there is no such adapter.
  Status setAdapter(std::string name);
  /// Forgets the conversation except for the system message.
  void reset();

  /// How answer() communicates with its caller.
  struct Listener {
    /// Receives the next piece of the answer, well-formed UTF-8.
    std::function<void(std::string_view piece)> piece;
    /// Whether to stop the answer. Called once for each step of the engine.
    std::function<bool()> isStopped;
  };

  /// Answers a message. A stopped answer is part of the conversation, a message
  /// whose answer fails is not. Fails when the conversation is too long for the
  /// plan, when the template refuses it, and when the engine fails.
  Expected<FinishReason> answer(const std::string& message,
                                const Listener& listener);

  const ChatInput& conversation() const { return input; }
  const SamplingOptions& options() const { return sampling; }

private:
  Expected<FinishReason> run(RequestId request, const SamplingOptions& options,
                             const Listener& listener, std::string& text);

  Engine& engine;
  const PromptTokens& prompts;
  const data::Tokenizer& tokenizer;
  SamplingOptions sampling;
  std::string system;
  std::string adapter;
  ChatInput input;
  uint64_t turns = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_CHATSESSION_H
