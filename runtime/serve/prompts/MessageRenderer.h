// Renders conversations as prompts in the form that a model was trained on.

#ifndef RECIPERUN_SERVE_PROMPTS_MESSAGERENDERER_H
#define RECIPERUN_SERVE_PROMPTS_MESSAGERENDERER_H

#include "runtime/base/Status.h"
#include "runtime/data/Jsonl.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/prompts/ChatInput.h"
#include "runtime/serve/prompts/PromptTemplate.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::serve {

/// Renders messages with the chat template of a model's folder. If the folder
/// has no template, or the one that a training run wrote from the recipe, puts
/// each message between the texts of `data.chat` and encodes it piece by piece,
/// exactly as in training.
class MessageRenderer {
public:
  /// Reads the templates of a folder. `data` and `tokenizer` must outlive the
  /// object. Fails when a file cannot be read. A template that cannot be parsed
  /// fails when it is used.
  static Expected<MessageRenderer> open(const std::filesystem::path& directory,
                                        const plan::Data& data,
                                        const data::Tokenizer& tokenizer);

  /// The ids of a conversation; `now` is the time that templates print. Fails
  /// when the input is not a conversation, and when the template raises an
  /// exception.
  Expected<std::vector<int32_t>> encode(const ChatInput& input,
                                        std::time_t now) const;

  /// The text of a conversation.
  Expected<std::string> render(const ChatInput& input, std::time_t now) const;

  /// Whether the form of the messages is a guess: the folder has no template,
  /// and the model was not trained on messages.
  bool guessesForm() const { return isGuess; }

private:
  struct Named {
    std::string name;
    Expected<PromptTemplate> made;
  };

  MessageRenderer(const plan::Data& data, const data::Tokenizer& tokenizer)
      : data(data), tokenizer(tokenizer) {}

  Expected<const PromptTemplate*> templateFor(const ChatInput& input) const;
  Expected<std::vector<data::Piece>> piecesOf(const ChatInput& input) const;

  const plan::Data& data;
  const data::Tokenizer& tokenizer;
  std::vector<Named> templates; // empty: `data.chat`
  bool isGuess = false;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_MESSAGERENDERER_H
