// The tokenizer's files beside an exported model.

#ifndef RECIPERUN_CHECKPOINT_TOKENIZERFILES_H
#define RECIPERUN_CHECKPOINT_TOKENIZERFILES_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Writes tokenizer.json, the same bytes as `data.tokenizer`, and what stands
/// beside it (tokenizer_config.json, special_tokens_map.json,
/// chat_template.jinja). Without a tokenizer_config.json a minimal one is made,
/// with the tokens of `data.bosToken` and `data.eosToken`. Where chat messages
/// are trained on, the template by which transformers renders them is that of
/// the training. Does nothing when the plan has no tokenizer. Links are
/// followed; a file whose bytes are not what its name says (a tokenizer, a JSON
/// object, a Jinja template) is refused.
Status writeTokenizerFiles(const plan::Data& data,
                           const std::filesystem::path& directory);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_TOKENIZERFILES_H
