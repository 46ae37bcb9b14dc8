// Parses the JSON of a tokenizer.json to TokenizerParts.

#ifndef RECIPERUN_DATA_TOKENIZERJSON_H
#define RECIPERUN_DATA_TOKENIZERJSON_H

#include "runtime/data/Tokenizer.h"

#include <string_view>

namespace reciperun::data {

/// Fails when the text is not a tokenizer.json (naming the wrong member) or is
/// of a type that is not supported (naming that type and the supported ones).
Expected<TokenizerParts> readTokenizerJson(std::string_view text);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENIZERJSON_H
