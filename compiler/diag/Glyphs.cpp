// Decoding, widths and line breaks: see Glyphs.h.

#include "compiler/diag/Glyphs.h"

#include <algorithm>
#include <optional>

namespace recipec::diag {

namespace {

constexpr int tabWidth = 4;

/// Decodes one code point at `text[at]`; sets its length in bytes. Returns
/// nothing for a byte that does not begin a complete sequence.
std::optional<uint32_t> decode(std::string_view text, size_t at,
                               size_t& length) {
  unsigned char first = text[at];
  length = 1;
  if (first < 0x80)
    return first;
  size_t expected = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + expected > text.size())
    return std::nullopt;
  uint32_t value = first & (0xFF >> (expected + 1));
  for (size_t i = 1; i < expected; ++i) {
    unsigned char next = text[at + i];
    if ((next & 0xC0) != 0x80)
      return std::nullopt;
    value = value << 6 | (next & 0x3F);
  }
  length = expected;
  return value;
}

struct CodePointRange {
  uint32_t first, last;
};

bool isIn(uint32_t value, const CodePointRange* begin,
          const CodePointRange* end) {
  return std::any_of(begin, end, [&](CodePointRange range) {
    return value >= range.first && value <= range.last;
  });
}

/// Columns on a terminal: the blocks of Unicode's EastAsianWidth W and F that
/// are in everyday use, and the combining marks that take none.
int displayWidth(uint32_t value) {
  static constexpr CodePointRange wide[] = {
      {0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
      {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
      {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  static constexpr CodePointRange combining[] = {
      {0x300, 0x36F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
  if (isIn(value, std::begin(combining), std::end(combining)))
    return 0;
  return isIn(value, std::begin(wide), std::end(wide)) ? 2 : 1;
}

/// Splits at spaces, but not between backticks.
std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  size_t begin = 0;
  bool isQuoted = false;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '`')
      isQuoted = !isQuoted;
    if (i < line.size() && (line[i] != ' ' || isQuoted))
      continue;
    result.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  return result;
}

void wrapLine(std::string_view line, int columns,
              std::vector<std::string>& lines) {
  std::string current;
  int width = 0;
  for (std::string_view word : words(line)) {
    int added = textWidth(word);
    bool isFirst = current.empty();
    if (!isFirst && width + 1 + added > columns) {
      lines.push_back(std::move(current));
      current.clear();
      width = 0;
    } else if (!isFirst) {
      current += ' ';
      ++width;
    }
    current += printable(word);
    width += added;
  }
  lines.push_back(std::move(current));
}

} // namespace

std::vector<Glyph> layOut(std::string_view line) {
  std::vector<Glyph> glyphs;
  int column = 0;
  for (size_t at = 0; at < line.size();) {
    size_t length = 1;
    std::optional<uint32_t> value = decode(line, at, length);
    Glyph glyph{std::string(line.substr(at, length)), 1, uint32_t(at)};
    bool isControl = value && (*value < 0x20 || *value == 0x7F);
    if (value == '\t') {
      glyph.width = tabWidth - column % tabWidth;
      glyph.text = std::string(glyph.width, ' ');
    } else if (!value || isControl) {
      glyph.text.assign(1, '?');
    } else {
      glyph.width = displayWidth(*value);
    }
    column += glyph.width;
    glyphs.push_back(std::move(glyph));
    at += length;
  }
  return glyphs;
}

std::string printable(std::string_view line) {
  std::string text;
  for (const Glyph& glyph : layOut(line))
    text += glyph.text;
  return text;
}

int textWidth(std::string_view line) {
  int width = 0;
  for (const Glyph& glyph : layOut(line))
    width += glyph.width;
  return width;
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (columns > 0)
      wrapLine(line, columns, lines);
    else
      lines.push_back(printable(line));
    begin = end + 1;
  }
  return lines;
}

} // namespace recipec::diag
