// A table by code point; see LookAlikes.h. Names are those of the Unicode
// character database. The fullwidth forms (U+FF01 to U+FF5E) are ASCII at an
// offset.

#include "compiler/parse/LookAlikes.h"

#include "compiler/base/Utf8.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace recipec::parse {
namespace {

struct Entry {
  uint32_t code;
  std::string_view name;
  std::string_view replacement;
};

constexpr Entry entries[] = {
    {0x00A0, "no-break space", " "},
    {0x00AB, "left guillemet", "\""},
    {0x00AD, "soft hyphen", ""},
    {0x00B4, "acute accent", "\""},
    {0x00BB, "right guillemet", "\""},
    {0x00D7, "multiplication sign", "*"},
    {0x00F7, "division sign", "/"},
    {0x037E, "Greek question mark", ","},
    {0x2000, "en quad", " "},
    {0x2001, "em quad", " "},
    {0x2002, "en space", " "},
    {0x2003, "em space", " "},
    {0x2004, "three-per-em space", " "},
    {0x2005, "four-per-em space", " "},
    {0x2006, "six-per-em space", " "},
    {0x2007, "figure space", " "},
    {0x2008, "punctuation space", " "},
    {0x2009, "thin space", " "},
    {0x200A, "hair space", " "},
    {0x200B, "zero width space", ""},
    {0x200C, "zero width non-joiner", ""},
    {0x200D, "zero width joiner", ""},
    {0x200E, "left-to-right mark", ""},
    {0x200F, "right-to-left mark", ""},
    {0x2010, "hyphen", "-"},
    {0x2011, "non-breaking hyphen", "-"},
    {0x2012, "figure dash", "-"},
    {0x2013, "en dash", "-"},
    {0x2014, "em dash", "-"},
    {0x2015, "horizontal bar", "-"},
    {0x2018, "left single quotation mark", "\""},
    {0x2019, "right single quotation mark", "\""},
    {0x201A, "single low-9 quotation mark", "\""},
    {0x201B, "single high-reversed-9 quotation mark", "\""},
    {0x201C, "left double quotation mark", "\""},
    {0x201D, "right double quotation mark", "\""},
    {0x201E, "double low-9 quotation mark", "\""},
    {0x201F, "double high-reversed-9 quotation mark", "\""},
    {0x2026, "ellipsis", ".."},
    {0x202F, "narrow no-break space", " "},
    {0x205F, "medium mathematical space", " "},
    {0x2060, "word joiner", ""},
    {0x2192, "arrow", "->"},
    {0x2212, "minus sign", "-"},
    {0x2215, "division slash", "/"},
    {0x2217, "asterisk operator", "*"},
    {0x22C5, "dot operator", "*"},
    {0x2260, "not equal to", "!="},
    {0x2264, "less-than or equal to", "<="},
    {0x2265, "greater-than or equal to", ">="},
    {0x3000, "ideographic space", " "},
    {0x3001, "ideographic comma", ","},
    {0x3002, "ideographic full stop", "."},
    {0xFEFF, "byte order mark", ""},
};

constexpr uint32_t firstWide = 0xFF01, lastWide = 0xFF5E, wideShift = 0xFEE0;

} // namespace

std::string codePointName(std::string_view text) {
  return "U+" + llvm::utohexstr(firstCodePoint(text), /*LowerCase=*/false,
                                /*Width=*/4);
}

std::optional<LookAlike> lookAlikeOf(std::string_view character) {
  if (character.empty() || static_cast<unsigned char>(character[0]) < 0x80)
    return std::nullopt;
  auto named = [&](std::string_view name) {
    return std::string(name) + " (" + codePointName(character) + ")";
  };
  uint32_t code = firstCodePoint(character);
  if (code >= firstWide && code <= lastWide) {
    char plain = char(code - wideShift);
    return LookAlike{named("full-width `" + std::string(1, plain) + "`"),
                     plain == '\'' ? "\"" : std::string(1, plain),
                     plain == '"' || plain == '\''};
  }
  auto found =
      std::find_if(std::begin(entries), std::end(entries),
                   [&](const Entry& each) { return each.code == code; });
  if (found == std::end(entries))
    return std::nullopt;
  return LookAlike{named(found->name), std::string(found->replacement),
                   found->replacement == "\""};
}

std::string referenceAt(std::string_view text) {
  const size_t end = text.find('}');
  if (!text.starts_with("${") || end == text.npos || end == 2)
    return {};
  const std::string_view name = text.substr(2, end - 2);
  const bool isPath =
      std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '.';
      });
  return isPath ? std::string(name) : std::string();
}

} // namespace recipec::parse
