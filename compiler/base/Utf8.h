// Code points of UTF-8 text.

#ifndef RECIPEC_BASE_UTF8_H
#define RECIPEC_BASE_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace recipec {

inline constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// Whether a byte of valid text begins a code point.
inline bool beginsCodePoint(char byte) {
  return (byte & 0xC0) != 0x80;
}

/// Number of code points in valid text.
int64_t countCodePoints(std::string_view text);

/// Byte offset of the code point at `index`; `index` is at most the number of
/// code points.
size_t offsetOfCodePoint(std::string_view text, int64_t index);

/// Size in bytes of the first code point of `text`; 0 when `text` does not
/// begin with a valid one (Unicode 15, table 3-7).
size_t codePointLength(std::string_view text);

/// The first code point of valid, non-empty text.
uint32_t firstCodePoint(std::string_view text);

/// Appends a code point. Returns false when it is not a Unicode scalar value.
bool appendCodePoint(uint32_t value, std::string& text);

} // namespace recipec

#endif // RECIPEC_BASE_UTF8_H
