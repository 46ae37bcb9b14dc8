// A regular expression of a tokenizer.json, matched by PCRE2.
//
// A pattern that backtracks without bound would keep a run from starting: a
// match has a limit of steps that grows with the text, and passing it is an
// error that names pattern and text.
//
// `tokenizers` matches with Oniguruma (Ruby's syntax). The few spellings that
// mean something else to PCRE2 are translated: \s is Unicode's White_Space, \w
// takes in marks, \h is a hexadecimal digit, \uHHHH is a code point, \p{Han} is
// the script and not its extensions. What neither spelling nor translation
// covers is refused when the file is read, never matched in another way.

#ifndef RECIPERUN_DATA_PATTERN_H
#define RECIPERUN_DATA_PATTERN_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <optional>
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

  /// The matches of a text from left to right, none overlapping.
  class Matches {
  public:
    /// The text is well-formed UTF-8; both arguments outlive the object.
    Matches(const Pattern& pattern, std::string_view text)
        : pattern(pattern), text(text) {}
    /// The next one, or none. Fails where matching takes more steps or memory
    /// than a sound pattern does, and once the run is to stop.
    Expected<std::optional<Span>> next();
    /// Where the search has come to, in bytes.
    size_t place() const { return from; }

  private:
    const Pattern& pattern;
    std::string_view text;
    size_t from = 0;
    size_t lastEnd = std::string_view::npos;
  };
  Status matches(std::string_view text, std::vector<Span>& found) const;

private:
  struct Compiled;
  struct Free {
    void operator()(Compiled* compiled) const;
  };
  explicit Pattern(std::unique_ptr<Compiled, Free> compiled);

  /// The first match that begins in `[from, last]`.
  Expected<std::optional<Span>> search(std::string_view text, size_t from,
                                       size_t last) const;

  std::unique_ptr<Compiled, Free> compiled;
};

/// The expression as PCRE2 (UTF, UCP) reads it. Exposed for its tests.
Expected<std::string> translatePattern(std::string_view expression);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PATTERN_H
