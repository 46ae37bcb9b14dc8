// Characters of UTF-8 text, which is valid: the parser has checked it.

#ifndef RECIPEC_SEMA_VALUES_CODEPOINTS_H
#define RECIPEC_SEMA_VALUES_CODEPOINTS_H

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace recipec::sema {

inline bool beginsCodePoint(char byte) {
  return (byte & 0xC0) != 0x80;
}

inline int64_t countCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), beginsCodePoint);
}

/// The offset in bytes of the code point at `index`, which is at most their
/// count.
inline size_t offsetOfCodePoint(std::string_view text, int64_t index) {
  size_t offset = 0;
  for (; offset < text.size(); ++offset)
    if (beginsCodePoint(text[offset]) && index-- == 0)
      break;
  return offset;
}

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_CODEPOINTS_H
