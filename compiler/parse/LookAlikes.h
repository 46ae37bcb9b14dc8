// Characters that look like a character of the language. Word processors, chats
// and web pages substitute them.

#ifndef RECIPEC_PARSE_LOOKALIKES_H
#define RECIPEC_PARSE_LOOKALIKES_H

#include <optional>
#include <string>
#include <string_view>

namespace recipec::parse {

/// A look-alike and the character of the language that replaces it.
struct LookAlike {
  std::string name;        // `no-break space (U+00A0)`
  std::string replacement; // ` `; empty if the character is to be removed
  bool isQuote = false;
};

/// Looks up a character (UTF-8) in the table of look-alikes; nullopt if it is
/// none.
std::optional<LookAlike> lookAlikeOf(std::string_view character);

/// The first code point of the text as `U+00A0`.
std::string codePointName(std::string_view text);

/// The path in a `${a.b}` at the beginning of a text; empty for other texts.
std::string referenceAt(std::string_view text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_LOOKALIKES_H
