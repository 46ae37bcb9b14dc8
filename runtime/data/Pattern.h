// A regular expression of a tokenizer.json, matched by PCRE2.
//
// `tokenizers` matches with Oniguruma (Ruby's syntax). The few spellings that
// mean something else to PCRE2 are translated: \s is Unicode's White_Space, \w
// takes in marks, \h is a hexadecimal digit, \uHHHH is a code point, \p{Han} is
// the script and not its extensions. What neither spelling nor translation
// covers is refused when the file is read, never matched in another way.

#ifndef RECIPERUN_DATA_PATTERN_H
#define RECIPERUN_DATA_PATTERN_H

#include "runtime/plan/Status.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// A stretch of a text in bytes.
struct Span {
  size_t begin = 0;
  size_t end = 0;
};

class Pattern {
public:
  /// Compiles an expression in Oniguruma's syntax.
  static Expected<Pattern> compile(std::string_view expression);
  /// A pattern that matches exactly this text.
  static Expected<Pattern> literal(std::string_view text);

  /// Appends the matches from left to right, none overlapping.
  /// The text is well-formed UTF-8. Fails when matching runs out of memory.
  Status matches(std::string_view text, std::vector<Span>& found) const;

private:
  struct Compiled;
  struct Free {
    void operator()(Compiled* compiled) const;
  };
  explicit Pattern(std::unique_ptr<Compiled, Free> compiled);

  /// The first match at or behind `from`; empty at the text's end for none.
  Expected<Span> next(std::string_view text, size_t from) const;

  std::unique_ptr<Compiled, Free> compiled;
};

/// The expression as PCRE2 (UTF, UCP) reads it. Exposed for its tests.
Expected<std::string> translatePattern(std::string_view expression);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PATTERN_H
