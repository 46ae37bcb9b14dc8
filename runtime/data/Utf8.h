// UTF-8 as RFC 3629 defines it: detects ill-formed text and makes it
// displayable.
//
// Ill-formed bytes become U+FFFD, one for each maximal subpart (The Unicode
// Standard 15, section 3.9, "U+FFFD substitution"), as in Rust and Python.

#ifndef RECIPERUN_DATA_UTF8_H
#define RECIPERUN_DATA_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reciperun::data {

/// What some editors write at the start of a file of UTF-8.
inline constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// The unit at one offset of a text.
struct Utf8Unit {
  enum class Kind {
    scalar,    // a code point of `bytes` bytes
    illFormed, // a maximal subpart of `bytes` bytes that cannot be completed
    cutOff     // the text ends before the code point does
  };
  Kind kind = Kind::scalar;
  size_t bytes = 0;
};

/// The unit at offset `at`, which is inside the text.
Utf8Unit utf8UnitAt(std::string_view text, size_t at);

/// The offset of the first byte that is not well-formed; npos when all are.
size_t firstIllFormed(std::string_view text);

/// The text with every ill-formed part replaced by U+FFFD.
std::string replaceIllFormed(std::string_view text);

/// The number of bytes at the end that may be completed to a code point by more
/// text.
size_t cutOffBytes(std::string_view text);

/// The code point of the well-formed unit at `at`; advances `at` past it.
uint32_t takeCodePoint(std::string_view text, size_t& at);

/// Appends the UTF-8 form of a code point.
void appendUtf8(std::string& text, uint32_t codePoint);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_UTF8_H
