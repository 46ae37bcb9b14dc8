// A position in the text of a grammar or regular expression.

#ifndef RECIPERUN_GRAMMAR_TEXTCURSOR_H
#define RECIPERUN_GRAMMAR_TEXTCURSOR_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reciperun::grammar {

class TextCursor {
public:
  /// `text` must be well-formed UTF-8 (see checkText) and outlive the cursor.
  explicit TextCursor(std::string_view text) : text(text) {}

  bool isAtEnd() const { return at == text.size(); }
  size_t position() const { return at; }
  void moveTo(size_t position) { at = position; }
  /// The code point here; 0 at the end.
  uint32_t peek() const;
  /// The code point here, which it moves past; 0 at the end.
  uint32_t next();
  bool startsWith(std::string_view prefix) const {
    return text.substr(at).starts_with(prefix);
  }
  /// Moves past the prefix if it stands here.
  bool take(std::string_view prefix);
  std::string_view textFrom(size_t begin) const {
    return text.substr(begin, at - begin);
  }

  /// Takes exactly `digits` hexadecimal digits. Fails at others.
  Expected<uint32_t> hexadecimal(int digits);
  /// Takes a decimal number; -1 when none stands here. A number above
  /// maxRepetitions becomes maxRepetitions + 1.
  int64_t decimal();

  /// A failure at the current position: "line 2, column 7: what".
  Status failure(const std::string& what) const { return failure(at, what); }
  Status failure(size_t position, const std::string& what) const;

private:
  std::string_view text;
  size_t at = 0;
};

/// Fails when a text is too long or not UTF-8; `noun` is used in the message.
Status checkText(std::string_view text, const std::string& noun);

/// "a repetition of more than N" at a position.
Status tooManyRepetitions(const TextCursor& cursor, size_t position);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_TEXTCURSOR_H
