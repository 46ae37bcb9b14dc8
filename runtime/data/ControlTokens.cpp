// See ControlTokens.h.

#include "runtime/data/ControlTokens.h"

#include <algorithm>

namespace reciperun::data {

namespace {

/// The index of the end of a `<...>` or `[...]` without white space or brackets
/// inside; npos when there is none.
size_t closingOf(std::string_view text, size_t open) {
  const char closing = text[open] == '<' ? '>' : ']';
  for (size_t at = open + 1; at < text.size(); ++at) {
    if (text[at] == closing)
      return at > open + 1 ? at : text.npos;
    if (text[at] == text[open] || text[at] == ' ' || text[at] == '\n')
      return text.npos;
  }
  return text.npos;
}

} // namespace

std::vector<std::string> controlTokens(std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '<' && text[at] != '[')
      continue;
    const size_t end = closingOf(text, at);
    if (end == text.npos)
      continue;
    std::string token(text.substr(at, end + 1 - at));
    // Text with a `{role}` placeholder differs between messages.
    const bool isFixed = token.find("{role}") == token.npos;
    if (isFixed && std::find(found.begin(), found.end(), token) == found.end())
      found.push_back(std::move(token));
    at = end;
  }
  return found;
}

std::vector<std::string> missingTokens(std::string_view text,
                                       const Tokenizer& tokenizer) {
  std::vector<std::string> missing = controlTokens(text);
  std::erase_if(missing, [&](const std::string& token) {
    const int32_t id = tokenizer.idOf(token);
    return id >= 0;
  });
  return missing;
}

} // namespace reciperun::data
