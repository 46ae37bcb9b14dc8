// Writes the tokenizer's files next to an exported model.

#ifndef RECIPERUN_CHECKPOINT_TOKENIZERFILES_H
#define RECIPERUN_CHECKPOINT_TOKENIZERFILES_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Copies tokenizer.json, byte by byte from `data.tokenizer`, and the files
/// next to it (tokenizer_config.json, special_tokens_map.json,
/// chat_template.jinja). Without a tokenizer_config.json it writes a minimal
/// one, with the tokens of `data.bosToken` and `data.eosToken`. When the run
/// trains on chat messages, the template for transformers is that of the
/// training. Does nothing when the plan has no tokenizer. Follows links;
/// refuses a file whose contents do not match its name (a tokenizer, a JSON
/// object, a Jinja template).
Status writeTokenizerFiles(const plan::Data& data,
                           const std::filesystem::path& directory);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_TOKENIZERFILES_H
