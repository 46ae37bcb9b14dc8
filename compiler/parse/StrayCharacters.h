// Help for characters that the language does not have: look-alikes, and
// operators of other languages. Private to this folder.

#ifndef RECIPEC_PARSE_STRAYCHARACTERS_H
#define RECIPEC_PARSE_STRAYCHARACTERS_H

#include "compiler/parse/LookAlikes.h"
#include "compiler/parse/Tokens.h"

#include <optional>
#include <string>
#include <string_view>

namespace recipec::parse {

class StrayCharacters {
public:
  /// `list` has the tokens before a character when its help is requested.
  StrayCharacters(const SourceMap& sources, const TokenList& list)
      : sources(sources), list(list) {}

  /// Whether other languages write strings with the character.
  static bool isQuote(std::string_view character);

  /// What to write in place of a stray character; empty if that is not known.
  std::string help(const Token& token,
                   const std::optional<LookAlike>& meant) const;

  /// Adds edits for the rest of the line from a stray character on. Very long
  /// lines, which nobody writes by hand, get no edits.
  void correctLine(const Token& token, diag::Builder& report) const;

private:
  std::string_view restOfLine(uint32_t from) const;
  bool isInList() const;
  bool beginsLoop(const Token& token) const;
  std::string operatorHelp(const Token& token) const;
  std::string powerAround(const Token& token) const;
  std::string ternaryHelp(const Token& token) const;

  const SourceMap& sources;
  const TokenList& list;
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_STRAYCHARACTERS_H
