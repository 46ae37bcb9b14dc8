// Reads words, names and numbers of a module's text. There is no separate
// lexer: a name ends at the first character that names cannot contain.

#ifndef RECIPEC_IR_TEXTREADER_H
#define RECIPEC_IR_TEXTREADER_H

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace recipec::ir {

/// Reads a text from front to back and skips white space. The first failure is
/// kept and moves the position to the end, so that callers need not check after
/// every word; loops check ok().
class TextReader {
public:
  explicit TextReader(std::string_view text) : text(text) {}

  bool ok() const { return failure.empty(); }
  /// `line 3: expected a name, found ...`; empty when nothing has failed.
  const std::string& problem() const { return failure; }
  /// Records that something else was expected at the current position.
  void fail(std::string expected);

  bool atEnd();
  /// The next character that is not white space; 0 at the end.
  char peek();
  bool take(char c);
  void expect(char c);

  std::string_view peekWord();
  bool takeWord(std::string_view word);
  void expectWord(std::string_view word);
  std::string word();
  /// A word or a quoted text.
  std::string name();
  std::string quoted();

  /// The longest run of number characters at the current position.
  std::string_view numberText();
  template <class Number> Number number();
  int64_t integer() { return number<int64_t>(); }

private:
  void skipSpace();

  std::string_view text;
  size_t place = 0;
  std::string failure;
};

template <class Number> Number TextReader::number() {
  std::string_view found = numberText();
  Number value = 0;
  auto [end, code] =
      std::from_chars(found.data(), found.data() + found.size(), value);
  if (code != std::errc() || end != found.data() + found.size())
    fail("a number");
  else
    place += found.size();
  return value;
}

} // namespace recipec::ir

#endif // RECIPEC_IR_TEXTREADER_H
