// Decodes the text as it is read.

#include "runtime/grammar/TextCursor.h"

#include "runtime/grammar/CodePointSet.h"
#include "runtime/grammar/Limits.h"

#include <algorithm>

namespace reciperun::grammar {

uint32_t TextCursor::peek() const {
  TextCursor copy = *this;
  return copy.next();
}

uint32_t TextCursor::next() {
  uint32_t codePoint = 0;
  takeUtf8(text, at, codePoint);
  return codePoint;
}

bool TextCursor::take(std::string_view prefix) {
  if (!startsWith(prefix))
    return false;
  at += prefix.size();
  return true;
}

Expected<uint32_t> TextCursor::hexadecimal(int digits) {
  uint32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const uint32_t digit = peek();
    const bool isLetter = (digit | 0x20) >= 'a' && (digit | 0x20) <= 'f';
    if (!isLetter && !(digit >= '0' && digit <= '9'))
      return failure("an escape needs " + std::to_string(digits) +
                     " hexadecimal digits");
    value = value << 4 | (isLetter ? (digit | 0x20) - 'a' + 10 : digit - '0');
    next();
  }
  return value;
}

int64_t TextCursor::decimal() {
  int64_t value = -1;
  while (peek() >= '0' && peek() <= '9')
    value = std::min(std::max<int64_t>(value, 0) * 10 + int64_t(next() - '0'),
                     maxRepetitions + 1);
  return value;
}

Status TextCursor::failure(size_t position, const std::string& what) const {
  const std::string_view before = text.substr(0, position);
  const size_t lineStart = before.rfind('\n') + 1;
  auto isStart = [](char c) { return (c & 0xC0) != 0x80; };
  const std::string_view line = before.substr(lineStart);
  std::string place =
      "column " +
      std::to_string(1 + std::count_if(line.begin(), line.end(), isStart));
  if (text.find('\n') != std::string_view::npos)
    place = "line " +
            std::to_string(1 + std::count(before.begin(), before.end(), '\n')) +
            ", " + place;
  return Status::error(place + ": " + what);
}

Status checkText(std::string_view text, const std::string& noun) {
  if (text.size() > maxTextBytes)
    return Status::error("the " + noun + " has " + std::to_string(text.size()) +
                         " bytes, more than the " +
                         std::to_string(maxTextBytes) + " that are read");
  uint32_t codePoint = 0;
  for (size_t at = 0; at < text.size();)
    if (!takeUtf8(text, at, codePoint))
      return Status::error("the " + noun + " is not UTF-8 at its byte " +
                           std::to_string(at + 1));
  return {};
}

Status tooManyRepetitions(const TextCursor& cursor, size_t position) {
  return cursor.failure(position, "a repetition of more than " +
                                      std::to_string(maxRepetitions) +
                                      " is not supported; write a smaller one, "
                                      "or one without an end");
}

} // namespace reciperun::grammar
