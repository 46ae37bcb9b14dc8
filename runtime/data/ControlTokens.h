// Control tokens that a text writes, and whether a tokenizer has them.

#ifndef RECIPERUN_DATA_CONTROLTOKENS_H
#define RECIPERUN_DATA_CONTROLTOKENS_H

#include "runtime/data/Tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// What a text writes in the manner of a control token: `<|im_end|>`,
/// `<start_of_turn>`, `[INST]`; each once, in order.
std::vector<std::string> controlTokens(std::string_view text);

/// Those of them that the tokenizer takes apart.
std::vector<std::string> missingTokens(std::string_view text,
                                       const Tokenizer& tokenizer);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_CONTROLTOKENS_H
