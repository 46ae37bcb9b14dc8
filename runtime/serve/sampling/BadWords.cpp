// Encodes a word with and without a space before it.

#include "runtime/serve/sampling/BadWords.h"

#include <algorithm>
#include <string>

namespace reciperun::serve {

Expected<std::vector<std::vector<int32_t>>>
badWordTokens(const data::Tokenizer& tokenizer, std::string_view word) {
  const std::string given(word);
  const size_t first = std::min(given.find_first_not_of(' '), given.size());
  const std::string bare = given.substr(first);
  std::vector<std::string> spellings = {bare, " " + bare};
  if (bare.empty()) // only spaces
    spellings = {given};
  std::vector<std::vector<int32_t>> sequences;
  for (const std::string& spelling : spellings) {
    Expected<std::vector<int32_t>> ids = tokenizer.encode(spelling);
    RECIPERUN_TRY(ids.status().withContext("bad word `" + given + "`"));
    if (ids->empty())
      return Status::error("the bad word `" + given +
                           "` has no token; leave it out");
    if (std::find(sequences.begin(), sequences.end(), *ids) == sequences.end())
      sequences.push_back(*std::move(ids));
  }
  return sequences;
}

} // namespace reciperun::serve
