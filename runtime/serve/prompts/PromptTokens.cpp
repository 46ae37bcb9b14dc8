// See PromptTokens.h.

#include "runtime/serve/prompts/PromptTokens.h"

#include "runtime/data/Documents.h"
#include "runtime/data/TextEncoder.h"

#include <cassert>
#include <limits>

namespace reciperun::serve {

Expected<PromptTokens>
PromptTokens::open(const std::filesystem::path& directory,
                   const plan::Plan& plan, const data::Tokenizer& tokenizer) {
  assert(plan.serving && "the plan serves");
  Expected<MessageRenderer> messages =
      MessageRenderer::open(directory, plan.data, tokenizer);
  RECIPERUN_TRY(messages);
  return PromptTokens(plan, tokenizer, *std::move(messages));
}

Expected<std::vector<int32_t>> PromptTokens::of(const PromptContent& content,
                                                std::time_t now) const {
  Expected<std::vector<int32_t>> ids = encode(content, now);
  RECIPERUN_TRY(ids);
  RECIPERUN_TRY(check(*ids));
  return ids;
}

Expected<std::vector<int32_t>>
PromptTokens::ofAnyLength(const PromptContent& content, std::time_t now) const {
  Expected<std::vector<int32_t>> ids = encode(content, now);
  RECIPERUN_TRY(ids);
  RECIPERUN_TRY(checkAnyLength(*ids));
  return ids;
}

Expected<std::vector<int32_t>>
PromptTokens::encode(const PromptContent& content, std::time_t now) const {
  if (const auto* given = std::get_if<std::vector<int32_t>>(&content))
    return *given;
  const auto* text = std::get_if<std::string>(&content);
  Expected<std::vector<int32_t>> ids =
      text ? data::encodePrompt(plan.data, tokenizer, *text)
           : messages.encode(std::get<ChatInput>(content), now);
  RECIPERUN_TRY(ids);
  RECIPERUN_TRY(checkEncoded(*ids));
  return ids;
}

Expected<std::vector<int32_t>>
PromptTokens::ofText(const std::string& text) const {
  Expected<std::vector<int32_t>> ids = ofTextOfAnyLength(text);
  RECIPERUN_TRY(ids);
  RECIPERUN_TRY(check(*ids));
  return ids;
}

Expected<std::vector<int32_t>>
PromptTokens::ofTextOfAnyLength(const std::string& text) const {
  Expected<std::vector<int32_t>> ids =
      data::encodeText(plan.data, tokenizer, text);
  RECIPERUN_TRY(ids);
  RECIPERUN_TRY(checkEncoded(*ids));
  RECIPERUN_TRY(checkAnyLength(*ids));
  return ids;
}

Status PromptTokens::checkAnyLength(std::span<const int32_t> ids) const {
  plan::Serving unlimited = *plan.serving;
  unlimited.maxInput = std::numeric_limits<int64_t>::max();
  return checkPromptIds(ids, unlimited, plan.data.vocab);
}

/// Checks that the tokenizer is that of the model.
Status PromptTokens::checkEncoded(std::span<const int32_t> ids) const {
  for (const int32_t id : ids)
    if (id >= plan.data.vocab)
      return Status::error(data::tooLargeId(plan.data, tokenizer, id));
  return Status::ok();
}

Status PromptTokens::check(std::span<const int32_t> ids) const {
  return checkPromptIds(ids, *plan.serving, plan.data.vocab);
}

Status checkPromptIds(std::span<const int32_t> ids,
                      const plan::Serving& serving, int64_t vocab) {
  if (ids.empty())
    return Status::error("the prompt has no token; write a text");
  if (int64_t(ids.size()) > serving.maxInput)
    return Status::error("the prompt has " + std::to_string(ids.size()) +
                         " tokens, but the plan takes " +
                         std::to_string(serving.maxInput) +
                         "; shorten it, or compile with a larger " +
                         (serving.maxInput < serving.maxTokens
                              ? "`serve.max_input`"
                              : "`data.sequence`, of at most the model's "
                                "`max_positions`"));
  for (const int32_t id : ids)
    if (id < 0 || id >= vocab)
      return Status::error("token " + std::to_string(id) +
                           " is outside the model's vocabulary of " +
                           std::to_string(vocab) +
                           "; encode with the model's own tokenizer");
  return {};
}

} // namespace reciperun::serve
