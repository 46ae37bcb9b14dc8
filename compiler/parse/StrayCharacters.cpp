// See StrayCharacters.h.

#include "compiler/parse/StrayCharacters.h"

#include "compiler/base/Utf8.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace recipec::parse {
namespace {

/// The text between a foreign quotation mark at the front of `text` and the
/// next quotation mark. Returns nullopt if the text cannot go between `"`
/// unchanged.
std::optional<std::string_view> quotedIn(std::string_view text) {
  size_t begin = codePointLength(text);
  for (size_t at = begin; at < text.size();
       at += codePointLength(text.substr(at))) {
    std::string_view character =
        text.substr(at, codePointLength(text.substr(at)));
    if (StrayCharacters::isQuote(character) || character == "\"")
      return text.substr(begin, at - begin);
    if (character == "\\" || character == "{" || character == "\r")
      return std::nullopt;
  }
  return std::nullopt;
}

} // namespace

bool StrayCharacters::isQuote(std::string_view character) {
  std::optional<LookAlike> meant = lookAlikeOf(character);
  return character == "'" || character == "`" || (meant && meant->isQuote);
}

std::string_view StrayCharacters::restOfLine(uint32_t from) const {
  std::string_view rest = sources.text(list.source).substr(from);
  return rest.substr(0, rest.find('\n'));
}

void StrayCharacters::correctLine(const Token& token,
                                  diag::Builder& report) const {
  constexpr size_t longestCorrected = 2000; // bytes
  std::string_view line = restOfLine(token.begin);
  if (line.size() > longestCorrected)
    return;
  bool inString = false;
  for (size_t at = 0, length = 0; at < line.size(); at += length) {
    length = codePointLength(line.substr(at));
    std::string_view character = line.substr(at, length);
    if (character == "#" && !inString)
      return;
    if (character == "\\")
      length += at + 1 < line.size();
    if (character == "\"")
      inString = !inString;
    if (inString)
      continue;
    uint32_t begin = token.begin + uint32_t(at);
    auto replace = [&](size_t size, std::string text) {
      report.fixIt({list.source, begin, begin + uint32_t(size)},
                   std::move(text), diag::Applicability::safe);
    };
    std::optional<LookAlike> meant = lookAlikeOf(character);
    if (isQuote(character)) {
      auto text = quotedIn(line.substr(at));
      if (!text)
        return;
      replace(length, "\"");
      at += length + text->size();
      begin = token.begin + uint32_t(at);
      length = codePointLength(line.substr(at));
      if (line[at] != '"')
        replace(length, "\"");
    } else if (meant) {
      replace(length, meant->replacement);
    } else if (character == ";") {
      size_t after = line.find_first_not_of(" \t\r;", at);
      bool isLast = after == std::string_view::npos || line[after] == '#' ||
                    line[after] == '}';
      replace(1, isLast ? "" : ",");
    } else if (const std::string name = referenceAt(line.substr(at));
               !name.empty()) {
      length = name.size() + 3;
      replace(length, name);
    } else if (line.substr(at).starts_with("&&")) {
      replace(2, "and");
      length = 2;
    }
  }
}

/// Whether the innermost open bracket is a square or round one.
bool StrayCharacters::isInList() const {
  int depth = 0;
  for (size_t i = list.tokens.size(); i > 0; --i) {
    const size_t type = list.tokens[i - 1].type;
    depth += type == TokenType::RBRACKET || type == TokenType::RPAREN ||
             type == TokenType::CLOSE;
    if (type == TokenType::OPEN || type == TokenType::LBRACKET ||
        type == TokenType::LPAREN)
      if (depth-- == 0)
        return type != TokenType::OPEN;
  }
  return false;
}

/// `for (i = 0; i < n; i++) {`
bool StrayCharacters::beginsLoop(const Token& token) const {
  const int line = sources.lineColumn(list.source, token.begin).line;
  std::string_view text = sources.lineText(list.source, line);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.starts_with("for");
}

/// Helps with `?` or `&` as other languages use them: `a ?? b`, `a?.b`,
/// `&anchor`.
std::string StrayCharacters::operatorHelp(const Token& token) const {
  std::string_view rest = sources.text(list.source).substr(token.begin);
  if (rest.starts_with("??"))
    return "a value for `none` is chosen by `if a == none then b else a`";
  if (rest.starts_with("?."))
    return "write `.`: a field of a record is always there, and may be "
           "`none`";
  if (rest.starts_with("&") && rest.size() > 1 &&
      std::isalpha(static_cast<unsigned char>(rest[1])))
    return "there are no anchors: what is used twice is named with `let`, "
           "settings that recipes share with `mixin`";
  return {};
}

/// `c ? a : b` on one line; each part ends at a comma, a bracket or a sign.
std::string StrayCharacters::ternaryHelp(const Token& token) const {
  const std::string_view all = sources.text(list.source);
  auto trimmed = [](std::string_view part) {
    const size_t begin = part.find_first_not_of(' ');
    return begin == part.npos
               ? std::string()
               : std::string(part.substr(begin, part.find_last_not_of(' ') + 1 -
                                                    begin));
  };
  std::string_view before = all.substr(0, token.begin);
  // Find the `=` of a setting, not the one in `a == b` or `a <= b`.
  size_t start = before.find_last_of("\n,({[");
  for (size_t at = start == before.npos ? 0 : start; at < before.size(); ++at)
    if (before[at] == '=' && at > 0 &&
        std::string_view("=!<>").find(before[at - 1]) ==
            std::string_view::npos &&
        before.substr(at + 1, 1) != "=")
      start = at;
  const std::string_view rest = restOfLine(token.begin + 1);
  const size_t colon = rest.find(':');
  const std::string condition =
      trimmed(before.substr(start == before.npos ? 0 : start + 1));
  if (colon == rest.npos || condition.empty())
    return "a conditional is written `if condition then a else b`";
  const std::string_view behind = rest.substr(colon + 1);
  return "write `if " + condition + " then " + trimmed(rest.substr(0, colon)) +
         " else " + trimmed(behind.substr(0, behind.find_first_of(",)}]#"))) +
         "`";
}

/// `pow(2, n)` for `2 ^ n`; empty if an operand is not a name or number.
std::string StrayCharacters::powerAround(const Token& token) const {
  std::string_view rest = restOfLine(token.end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const size_t end = std::min(
      rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                             "XYZ0123456789_"),
      rest.size());
  const bool isOperand =
      !list.tokens.empty() && (isName(list.tokens.back().type) ||
                               list.tokens.back().type == TokenType::INTEGER);
  if (!isOperand || end == 0)
    return {};
  return "pow(" +
         std::string(sources.text(list.range(list.tokens.size() - 1))) + ", " +
         std::string(rest.substr(0, end)) + ")";
}

std::string StrayCharacters::help(const Token& token,
                                  const std::optional<LookAlike>& meant) const {
  std::string_view character =
      sources.text({list.source, token.begin, token.end});
  if (isQuote(character))
    return "strings are written with `\"`";
  if (meant && meant->replacement.empty())
    return "leave it out";
  if (meant)
    return meant->replacement == " " ? "write a space"
                                     : "write `" + meant->replacement + "`";
  if (std::string form = operatorHelp(token); !form.empty())
    return form;
  if (character == ";" && beginsLoop(token))
    return "a repetition is written `for i in 0..n { ... }`";
  if (character == ";" && !list.tokens.empty() && isInList())
    return "write `,` between the elements of a list";
  if (character == ";")
    return "remove it: an item ends at the end of its line, or with a comma";
  if (character == "&")
    return "write `and`";
  if (character == "!")
    return "write `not`";
  if (character == "^")
    if (const std::string own = powerAround(token); !own.empty())
      return "a power is written `" + own + "`";
  if (character == "\\" &&
      restOfLine(token.end).find_first_not_of(" \t\r") == std::string::npos)
    return "leave it out: a value goes on below an operator, and in brackets";
  if (character == "\\" &&
      restOfLine(token.begin).find("->") != std::string::npos)
    return "a function is declared with a name: `fun f(x) = ...`";
  if (character == "^")
    return "a power is written `pow(base, exponent)`, one of ten `1e-3`";
  if (character == "?")
    return ternaryHelp(token);
  if (const std::string name = referenceAt(restOfLine(token.begin));
      !name.empty())
    return "write `" + name + "`, without the `$` and the braces";
  if (character == "$")
    return "names are written without `$`, and in a string `{name}` is the "
           "value of one";
  if (character == "@")
    return "a matrix product is `linear(x, from -> to, name = \"...\")`";
  if (character == "\\" || character == "~")
    return "it has no meaning outside of strings";
  if (static_cast<unsigned char>(character[0]) >= 0x80)
    return "names are written with the letters `a` to `z`, digits and `_`";
  return {};
}

} // namespace recipec::parse
