// Checks that a tokenizer has the control tokens that a chat template writes.

#ifndef RECIPEC_FILES_CHAT_H
#define RECIPEC_FILES_CHAT_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

namespace recipec::files {

/// If the training reads chat messages, reports control tokens of `data.chat`
/// that the tokenizer would split into several tokens.
void checkChat(const recipe::Recipe& recipe,
               const reciperun::plan::Data& settings,
               const reciperun::data::Tokenizer& tokenizer,
               diag::Engine& doubts);

} // namespace recipec::files

#endif // RECIPEC_FILES_CHAT_H
