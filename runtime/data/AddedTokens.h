// The `added_tokens` of a tokenizer.json: found in a text before anything else
// is done to it, and never cut.

#ifndef RECIPERUN_DATA_ADDEDTOKENS_H
#define RECIPERUN_DATA_ADDEDTOKENS_H

#include "runtime/base/Status.h"
#include "runtime/data/Pattern.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;    // left out by a decoder that skips special tokens
  bool normalized = false; // looked for in the normalized text
  bool singleWord = false; // only where no word character touches it
  bool stripLeft = false;  // takes the white space before it along
  bool stripRight = false;
};

/// A stretch of a text: a token, or text between tokens (id -1).
struct TextPart {
  std::string_view text;
  int32_t id = -1;
};

/// Finds a set of tokens in a text.
class AddedTokens {
public:
  static Expected<AddedTokens> build(std::vector<AddedToken> tokens);

  /// Appends the parts of a text from left to right: leftmost matches, of
  /// those the longest. Tokens whose id is `hidden` are not looked for.
  Status split(std::string_view text, std::vector<TextPart>& parts,
               const std::vector<bool>& hidden = {}) const;

private:
  struct Node {
    std::vector<std::pair<char, int>> children; // few each: searched in order
    int token = -1;
  };

  void insert(int token);
  int childOf(int node, char c) const;
  int longestAt(std::string_view text, size_t at,
                const std::vector<bool>& hidden) const;
  Expected<bool> touchesWord(std::string_view text, Span span) const;
  Expected<Span> widened(std::string_view text, Span span, size_t from,
                         const AddedToken& token) const;

  std::vector<AddedToken> tokens;
  std::vector<Node> trie; // of the tokens' bytes, the root first
  std::optional<Pattern> word;
  std::optional<Pattern> space;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ADDEDTOKENS_H
