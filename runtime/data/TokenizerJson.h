// From the JSON of a tokenizer.json to TokenizerParts.

#ifndef RECIPERUN_DATA_TOKENIZERJSON_H
#define RECIPERUN_DATA_TOKENIZERJSON_H

#include "runtime/data/Tokenizer.h"

#include <string_view>

namespace reciperun::data {

/// Fails where the text is no tokenizer.json (naming the member at fault) or
/// asks for something other than byte-level BPE (naming the type it asks for
/// and what is supported).
Expected<TokenizerParts> readTokenizerJson(std::string_view text);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENIZERJSON_H
