// The token ids of a prompt, within the limits of a plan.

#ifndef RECIPERUN_SERVE_PROMPTS_PROMPTTOKENS_H
#define RECIPERUN_SERVE_PROMPTS_PROMPTTOKENS_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/prompts/MessageRenderer.h"
#include "runtime/serve/prompts/PromptFile.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <vector>

namespace reciperun::serve {

class PromptTokens {
public:
  /// Reads the chat templates of a model's folder. The plan serves; `plan` and
  /// `tokenizer` must outlive the object. Fails when a file cannot be read.
  static Expected<PromptTokens> open(const std::filesystem::path& directory,
                                     const plan::Plan& plan,
                                     const data::Tokenizer& tokenizer);

  /// The ids of a prompt; `now` is the time that chat templates print. A text
  /// is encoded as in training (data::encodePrompt): for a model that the
  /// recipe trained on messages, it is a user's message. Fails when the prompt
  /// has no token or more than `max_input`, when an id is not in the
  /// vocabulary, and when a conversation cannot be rendered.
  Expected<std::vector<int32_t>> of(const PromptContent& content,
                                    std::time_t now) const;

  /// The ids of a text that the model continues; the text is never a user's
  /// message. Fails as `of` does.
  Expected<std::vector<int32_t>> ofText(const std::string& text) const;
  /// The same for a text of any length.
  Expected<std::vector<int32_t>>
  ofTextOfAnyLength(const std::string& text) const;

  /// The same as `of` for a prompt of any length.
  Expected<std::vector<int32_t>> ofAnyLength(const PromptContent& content,
                                             std::time_t now) const;

  /// Checks the number of ids and their range.
  Status check(std::span<const int32_t> ids) const;

  const MessageRenderer& renderer() const { return messages; }

private:
  Expected<std::vector<int32_t>> encode(const PromptContent& content,
                                        std::time_t now) const;
  Status checkEncoded(std::span<const int32_t> ids) const;
  Status checkAnyLength(std::span<const int32_t> ids) const;

  PromptTokens(const plan::Plan& plan, const data::Tokenizer& tokenizer,
               MessageRenderer messages)
      : plan(plan), tokenizer(tokenizer), messages(std::move(messages)) {}

  const plan::Plan& plan;
  const data::Tokenizer& tokenizer;
  MessageRenderer messages;
};

/// Checks ids against limits: at least one, at most `serving.maxInput`, all
/// from 0 to below `vocab`. The failure states the limit and how to raise it.
Status checkPromptIds(std::span<const int32_t> ids,
                      const plan::Serving& serving, int64_t vocab);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_PROMPTTOKENS_H
