// Well-formed byte sequences by table 3-7 of the Unicode Standard: the lead
// byte gives the length and the range of the second byte; all further bytes
// are 80..BF.

#include "runtime/data/Utf8.h"

namespace reciperun::data {

namespace {

struct Lead {
  size_t bytes = 0; // 0 when no code point begins with this byte
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

Lead leadOf(uint8_t byte) {
  if (byte < 0x80)
    return {1};
  if (byte < 0xC2 || byte > 0xF4)
    return {};
  if (byte < 0xE0)
    return {2};
  if (byte == 0xE0)
    return {3, 0xA0, 0xBF};
  if (byte == 0xED) // the surrogates
    return {3, 0x80, 0x9F};
  if (byte < 0xF0)
    return {3};
  if (byte == 0xF0)
    return {4, 0x90, 0xBF};
  if (byte == 0xF4) // above U+10FFFF
    return {4, 0x80, 0x8F};
  return {4};
}

} // namespace

Utf8Unit utf8UnitAt(std::string_view text, size_t at) {
  const Lead lead = leadOf(static_cast<uint8_t>(text[at]));
  if (lead.bytes == 0)
    return {Utf8Unit::Kind::illFormed, 1};
  for (size_t i = 1; i < lead.bytes; ++i) {
    if (at + i == text.size())
      return {Utf8Unit::Kind::cutOff, i};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high)
      return {Utf8Unit::Kind::illFormed, i};
  }
  return {Utf8Unit::Kind::scalar, lead.bytes};
}

size_t firstIllFormed(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Unit unit = utf8UnitAt(text, at);
    if (unit.kind != Utf8Unit::Kind::scalar)
      return at;
    at += unit.bytes;
  }
  return std::string_view::npos;
}

std::string replaceIllFormed(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = utf8UnitAt(text, at);
    if (unit.kind == Utf8Unit::Kind::scalar)
      result += text.substr(at, unit.bytes);
    else
      result += "\xEF\xBF\xBD";
    at += unit.bytes;
  }
  return result;
}

size_t cutOffBytes(std::string_view text) {
  // A code point that is cut off has at most three bytes.
  const size_t start = text.size() < 3 ? 0 : text.size() - 3;
  for (size_t at = start; at < text.size(); ++at) {
    const Utf8Unit unit = utf8UnitAt(text, at);
    if (unit.kind == Utf8Unit::Kind::cutOff)
      return unit.bytes;
  }
  return 0;
}

uint32_t takeCodePoint(std::string_view text, size_t& at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  const size_t bytes = leadOf(lead).bytes;
  // The lead byte of n > 1 bytes carries 7 - n bits of the code point.
  uint32_t point = bytes == 1 ? lead : lead & ((1u << (7 - bytes)) - 1);
  for (size_t i = 1; i < bytes; ++i)
    point = point << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3F);
  at += bytes;
  return point;
}

void appendUtf8(std::string& text, uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  const uint32_t mark = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
  text += static_cast<char>(mark | point >> (6 * more));
  for (int i = more - 1; i >= 0; --i)
    text += static_cast<char>(0x80 | (point >> (6 * i) & 0x3F));
}

} // namespace reciperun::data
