// Column widths by LLVM's Unicode tables, and line breaks: see Glyphs.h.

#include "compiler/diag/Glyphs.h"

#include "compiler/base/Utf8.h"

#include "llvm/Support/Unicode.h"

#include <algorithm>

namespace recipec::diag {

namespace {

constexpr int tabWidth = 4;

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
    size_t length = std::max<size_t>(1, codePointLength(line.substr(at)));
    std::string_view character = line.substr(at, length);
    Glyph glyph{std::string(character), 1, uint32_t(at)};
    int width = llvm::sys::unicode::columnWidthUTF8(character);
    if (character == "\t") {
      glyph.width = tabWidth - column % tabWidth;
      glyph.text = std::string(glyph.width, ' ');
    } else if (width < 0) { // neither text nor printable
      glyph.text.assign(1, '?');
    } else {
      glyph.width = width;
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
