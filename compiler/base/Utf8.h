// UTF-8: the code points of a text.

#ifndef RECIPEC_BASE_UTF8_H
#define RECIPEC_BASE_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace recipec {

inline constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// Whether the byte, of valid text, begins a code point.
inline bool beginsCodePoint(char byte) {
  return (byte & 0xC0) != 0x80;
}

/// The code points of valid text.
int64_t countCodePoints(std::string_view text);

/// The offset in bytes of the code point at `index`, which is at most their
/// count.
size_t offsetOfCodePoint(std::string_view text, int64_t index);

/// Bytes of the code point that `text` begins with; 0 where no valid one does
/// (Unicode 15, table 3-7).
size_t codePointLength(std::string_view text);

/// The first code point of valid text that is not empty.
uint32_t firstCodePoint(std::string_view text);

/// Appends a code point; false for one that is not a Unicode scalar value.
bool appendCodePoint(uint32_t value, std::string& text);

} // namespace recipec

#endif // RECIPEC_BASE_UTF8_H
