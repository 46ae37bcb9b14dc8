// A recipe's chat template in Jinja, as transformers' `apply_chat_template`
// renders it.

#ifndef RECIPERUN_CHECKPOINT_CHATTEMPLATE_H
#define RECIPERUN_CHECKPOINT_CHATTEMPLATE_H

#include "runtime/plan/Plan.h"

#include <string>

namespace reciperun::checkpoint {

/// Renders messages as the training laid them out: `bos` in front, each message
/// between the texts of `chat`, `eos` behind the last; with
/// `add_generation_prompt`, in place of `eos`, what stands before an
/// assistant's answer. `bos` and `eos` are texts of tokens, empty for none.
std::string jinjaTemplate(const plan::ChatTemplate& chat,
                          const std::string& bos, const std::string& eos);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHATTEMPLATE_H
