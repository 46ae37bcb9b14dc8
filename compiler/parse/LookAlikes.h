// Characters that look like one of the language and are another: what word
// processors, chats and web pages make of it.

#ifndef RECIPEC_PARSE_LOOKALIKES_H
#define RECIPEC_PARSE_LOOKALIKES_H

#include <optional>
#include <string>
#include <string_view>

namespace recipec::parse {

/// A character that was taken for another.
struct LookAlike {
  std::string name;        // `no-break space (U+00A0)`
  std::string replacement; // ` `; empty: it is to be left out
  bool isQuote = false;
};

/// The character (UTF-8) as one that looks like a character of the language;
/// none for any other.
std::optional<LookAlike> lookAlikeOf(std::string_view character);

/// `U+00A0`, of the first code point of the text.
std::string codePointName(std::string_view text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_LOOKALIKES_H
