// Splits a template into texts and the tokens of its tags.

#ifndef RECIPERUN_JINJA_LEXER_H
#define RECIPERUN_JINJA_LEXER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::jinja {

struct Token {
  enum class Kind {
    text,        // outside of tags, after the rules of white space
    outputBegin, // {{
    outputEnd,   // }}
    blockBegin,  // {%
    blockEnd,    // %}
    name,
    string, // the contents, with escapes replaced
    integer,
    real,
    symbol, // an operator or bracket
    end,
  };
  Kind kind;
  std::string text;
  int line = 0;

  bool is(Kind wanted, std::string_view wantedText) const {
    return kind == wanted && text == wantedText;
  }
};

/// Splits a template with Jinja's options `trim_blocks` and `lstrip_blocks` on,
/// which transformers sets: a line break after a block and the white space
/// before a block at the start of a line are removed. Fails with the line of a
/// tag or string that has no end, or of a character that no token starts with.
Expected<std::vector<Token>> tokenize(std::string_view source);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_LEXER_H
