// Finds control tokens in a text, and those that a tokenizer lacks.

#ifndef RECIPERUN_DATA_CONTROLTOKENS_H
#define RECIPERUN_DATA_CONTROLTOKENS_H

#include "runtime/data/Tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// The substrings that look like a control token: `<|im_end|>`,
/// `<start_of_turn>`, `[INST]`; each once, in order.
std::vector<std::string> controlTokens(std::string_view text);

/// The control tokens of a text that the tokenizer would split.
std::vector<std::string> missingTokens(std::string_view text,
                                       const Tokenizer& tokenizer);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_CONTROLTOKENS_H
