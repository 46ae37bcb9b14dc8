// The `added_tokens` of a tokenizer.json: matched in a text before any other
// step, and never split.

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
  bool special = false;    // omitted when decoding skips special tokens
  bool normalized = false; // matched in the normalized text
  bool singleWord = false; // only matches between non-word characters
  bool stripLeft = false;  // includes the white space before it
  bool stripRight = false;
};

/// A part of a text: a token, or text between tokens (id -1).
struct TextPart {
  std::string_view text;
  int32_t id = -1;
};

/// Finds a set of tokens in a text.
class AddedTokens {
public:
  static Expected<AddedTokens> build(std::vector<AddedToken> tokens);

  /// Appends the parts of a text from left to right. Matches are leftmost, then
  /// longest. Does not match tokens whose id is `hidden`.
  Status split(std::string_view text, std::vector<TextPart>& parts,
               const std::vector<bool>& hidden = {}) const;

private:
  struct Node {
    std::vector<std::pair<char, int>> children; // few each: linear search
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
