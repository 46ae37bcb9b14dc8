// Conversations as the prompts that a model was trained on.

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

/// Writes messages by the chat template of a model's folder. Where the folder
/// has none, or the one that the training wrote from the recipe, each message
/// stands between the texts of `data.chat` and is encoded piece by piece,
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
  /// when the input is not a conversation, or the template refuses it.
  Expected<std::vector<int32_t>> encode(const ChatInput& input,
                                        std::time_t now) const;

  /// The text of a conversation.
  Expected<std::string> render(const ChatInput& input, std::time_t now) const;

  /// Whether the folder has no template and the model was not trained on
  /// messages, so that it does not know the form of `data.chat`.
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
