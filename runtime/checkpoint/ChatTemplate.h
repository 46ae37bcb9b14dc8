// Converts a recipe's chat template to Jinja, for transformers'
// `apply_chat_template`.

#ifndef RECIPERUN_CHECKPOINT_CHATTEMPLATE_H
#define RECIPERUN_CHECKPOINT_CHATTEMPLATE_H

#include "runtime/plan/Plan.h"

#include <string>

namespace reciperun::checkpoint {

/// The template renders messages as in training: `bos`, each message between
/// the texts of `chat`, then `eos`. With `add_generation_prompt` the text
/// before an assistant's answer replaces `eos`. `bos` and `eos` are the tokens'
/// texts, empty when the model has none.
std::string jinjaTemplate(const plan::ChatTemplate& chat,
                          const std::string& bos, const std::string& eos);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHATTEMPLATE_H
