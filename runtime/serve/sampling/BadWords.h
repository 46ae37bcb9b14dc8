// The token sequences of words that an answer must not contain.

#ifndef RECIPERUN_SERVE_SAMPLING_BADWORDS_H
#define RECIPERUN_SERVE_SAMPLING_BADWORDS_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace reciperun::serve {

/// The sequences for SamplingOptions::badWords: the word at the start of a
/// text, and after a space, which most tokenizers encode differently. Fails
/// when the word has no token.
Expected<std::vector<std::vector<int32_t>>>
badWordTokens(const data::Tokenizer& tokenizer, std::string_view word);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_BADWORDS_H
