// A regular expression of a tokenizer.json, matched by PCRE2.
//
// Unbounded backtracking would keep a run from starting. A match therefore has
// a step limit that grows with the text; exceeding it is an error that names
// pattern and text.
//
// `tokenizers` matches with Oniguruma (Ruby's syntax). The few constructs with
// another meaning in PCRE2 are translated: \s is Unicode's White_Space, \w
// includes marks, \h is a hexadecimal digit, \uHHHH is a code point, \p{Han} is
// the script without its extensions. Syntax that cannot be translated is
// refused when the file is read; it is never matched differently.

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

/// A range of bytes in a text.
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

  /// The non-overlapping matches of a text from left to right.
  class Matches {
  public:
    /// The text must be well-formed UTF-8; both arguments must outlive the
    /// object.
    Matches(const Pattern& pattern, std::string_view text)
        : pattern(pattern), text(text) {}
    /// The next match, or nullopt. Fails when matching takes more steps or
    /// memory than a reasonable pattern does, and when the run is asked to
    /// stop.
    Expected<std::optional<Span>> next();
    /// The search position in bytes.
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

/// Translates an expression to PCRE2 syntax (UTF, UCP). Exposed for its tests.
Expected<std::string> translatePattern(std::string_view expression);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PATTERN_H
