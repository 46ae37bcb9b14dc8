// See PromptIds.h.

#include "runtime/server/openai/PromptIds.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <variant>

namespace reciperun::server {

Expected<std::vector<int32_t>> promptIds(const ApiModel& served,
                                         const serve::PromptContent& content,
                                         const CommonFields& fields) {
  const auto* const text = std::get_if<std::string>(&content);
  auto ids = text ? served.prompts.ofTextOfAnyLength(*text)
                  : served.prompts.ofAnyLength(content, std::time(nullptr));
  RECIPERUN_TRY(ids);
  if (fields.lastTokens) {
    // An answer has a token at least.
    const int64_t most =
        std::min(served.limits().maxInput, served.limits().maxTokens - 1);
    const int64_t kept = *fields.lastTokens < 0 ? most : *fields.lastTokens;
    if (kept > most)
      return Status::error("`truncate_prompt_tokens` is " +
                           std::to_string(kept) + ", and the plan takes " +
                           std::to_string(most) + " tokens; ask for fewer");
    if (int64_t(ids->size()) > kept)
      ids->erase(ids->begin(), ids->end() - kept);
  }
  RECIPERUN_TRY(served.prompts.check(*ids));
  return ids;
}

} // namespace reciperun::server
