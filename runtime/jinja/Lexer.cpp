// 1. Copy text up to the next `{{`, `{%` or `{#`.
// 2. Apply the rules of white space on both sides of the tag: `-` removes all,
//    `+` keeps all; without either, blocks and comments are trimmed.
// 3. Skip comments, copy `raw` blocks, split other tags into tokens. A `}}`
//    inside of brackets closes dictionaries, not the tag.

#include "runtime/jinja/Lexer.h"

#include "runtime/jinja/Strings.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace reciperun::jinja {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view spaces = " \t\r\n\f\v";

/// The most tokens of a tag. They limit the depth of its syntax tree, which
/// grows by a level with each operator of a chain such as `a + b + c`.
constexpr size_t maxTokens = 20'000;
/// The most bytes of a name. Any step of a rendering may copy a name.
constexpr size_t maxNameSize = 256;

// Longest first.
constexpr std::array<std::string_view, 25> symbols = {
    "==", "!=", "<=", ">=", "//", "**", "<", ">", "+", "-", "*", "/", "%",
    "~",  "|",  ".",  ",",  ":",  "(",  ")", "[", "]", "{", "}", "="};

bool startsName(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool isDecimal(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

class Lexer {
public:
  explicit Lexer(std::string_view source) : source(source) {}

  Expected<std::vector<Token>> run() {
    // Jinja drops one line break at the end of the template.
    if (source.ends_with('\n'))
      source.remove_suffix(1);
    while (at < source.size()) {
      const size_t tag = nextTag();
      pending += source.substr(at, tag - at);
      advance(tag - at);
      if (at < source.size())
        RECIPERUN_TRY(tagAtCursor());
    }
    flush();
    add(Token::Kind::end, "");
    return std::move(tokens);
  }

private:
  size_t nextTag() const {
    for (size_t i = source.find('{', at); i != source.npos;
         i = source.find('{', i + 1)) {
      const std::string_view next = source.substr(i + 1, 1);
      if (next == "{" || next == "%" || next == "#")
        return i;
    }
    return source.size();
  }

  void advance(size_t count) {
    for (const char c : source.substr(at, count))
      line += c == '\n';
    at += count;
  }

  bool take(std::string_view text) {
    if (!source.substr(at).starts_with(text))
      return false;
    advance(text.size());
    return true;
  }

  void skipSpaces() {
    const size_t end = source.find_first_not_of(spaces, at);
    advance((end == source.npos ? source.size() : end) - at);
  }

  void add(Token::Kind kind, std::string text) {
    tokens.push_back({kind, std::move(text), line});
  }

  void flush() {
    if (!pending.empty())
      tokens.push_back({Token::Kind::text, std::move(pending), textLine});
    pending.clear();
    textLine = line;
    keptEnd = 0;
  }

  Status failure(const std::string& what) const {
    return Status::error("line " + std::to_string(line) + ": " + what);
  }

  // ---- white space

  /// Applies the rules of white space before a tag to the text after `keptEnd`,
  /// where the last comment or `raw` block ends.
  void trimBefore(bool isTrimmed, bool isStripped) {
    const std::string_view text = std::string_view(pending).substr(keptEnd);
    const size_t last = isTrimmed ? text.find_last_not_of(spaces)
                                  : text.find_last_not_of(blanks);
    const bool startsLine =
        last == text.npos ? startsAtLine : text[last] == '\n';
    if (isTrimmed || (isStripped && startsLine))
      pending.resize(keptEnd + (last == text.npos ? 0 : last + 1));
  }

  /// Applies the rules of white space after a block or comment.
  void trimAfter(bool isTrimmed, bool dropsLineBreak) {
    startsAtLine = false;
    if (isTrimmed)
      skipSpaces();
    else if (dropsLineBreak)
      startsAtLine = take("\n");
  }

  // ---- tags

  Status tagAtCursor() {
    const char kind = source[at + 1];
    const size_t first = at;
    advance(2);
    const bool trims = take("-");
    const bool keeps = !trims && kind != '{' && take("+");
    trimBefore(trims, kind != '{' && !keeps);
    if (kind == '#')
      return skipComment();
    if (kind == '%') {
      const size_t back = at;
      const int backLine = line;
      skipSpaces();
      if (take("raw") && endsTag(false))
        return copyRaw();
      at = back;
      line = backLine;
    }
    flush();
    add(kind == '{' ? Token::Kind::outputBegin : Token::Kind::blockBegin,
        std::string(source.substr(first, 2)));
    return tokensOfTag(kind == '{' ? "}}" : "%}", kind == '%');
  }

  Status skipComment() {
    const size_t end = source.find("#}", at);
    if (end == source.npos)
      return failure("a comment `{#` has no `#}`");
    const char last = end > at ? source[end - 1] : ' ';
    advance(end + 2 - at);
    trimAfter(last == '-', last != '+');
    keptEnd = pending.size();
    return {};
  }

  /// Takes `%}`, with an optional sign, at the cursor.
  bool endsTag(bool dropsLineBreak) {
    skipSpaces();
    const bool trims = take("-");
    const bool keeps = !trims && take("+");
    if (!take("%}"))
      return false;
    trimAfter(trims, dropsLineBreak && !keeps);
    return true;
  }

  /// Whether the tag at a position is `{% endraw`, with or without a sign.
  bool isEndOfRaw(size_t tag) const {
    size_t name = tag + 2;
    if (const std::string_view sign = source.substr(name, 1);
        sign == "-" || sign == "+")
      ++name;
    name = std::min(source.find_first_not_of(spaces, name), source.size());
    return source.substr(name).starts_with("endraw");
  }

  Status copyRaw() {
    size_t tag = source.find("{%", at);
    while (tag != source.npos && !isEndOfRaw(tag))
      tag = source.find("{%", tag + 2);
    if (tag == source.npos)
      return failure("`{% raw %}` has no `{% endraw %}`");
    keptEnd = pending.size();
    pending += source.substr(at, tag - at);
    advance(tag + 2 - at);
    const bool trims = take("-");
    const bool keeps = !trims && take("+");
    skipSpaces();
    take("endraw");
    trimBefore(trims, !keeps);
    if (!endsTag(true))
      return failure("`endraw` takes nothing");
    keptEnd = pending.size();
    return {};
  }

  Status tokensOfTag(std::string_view close, bool isBlock) {
    const int begin = line;
    const size_t tokensBefore = tokens.size();
    int depth = 0;
    while (true) {
      if (tokens.size() - tokensBefore > maxTokens)
        return failure("a tag has more than " + std::to_string(maxTokens) +
                       " tokens");
      skipSpaces();
      if (at >= source.size()) {
        line = begin;
        return failure("a tag has no `" + std::string(close) + "`");
      }
      const std::string_view rest = source.substr(at);
      const bool hasSign = rest[0] == '-' || (isBlock && rest[0] == '+');
      if (depth == 0 && rest.substr(hasSign).starts_with(close)) {
        advance(close.size() + hasSign);
        add(isBlock ? Token::Kind::blockEnd : Token::Kind::outputEnd,
            std::string(close));
        trimAfter(rest[0] == '-', isBlock && rest[0] != '+');
        textLine = line;
        return {};
      }
      RECIPERUN_TRY(oneToken(depth));
    }
  }

  Status oneToken(int& depth) {
    const char c = source[at];
    if (c == '"' || c == '\'')
      return stringToken(c);
    if (isDecimal(c)) {
      numberToken();
      return {};
    }
    if (startsName(c)) {
      size_t end = at;
      while (end < source.size() &&
             (startsName(source[end]) || isDecimal(source[end])))
        ++end;
      if (end - at > maxNameSize)
        return failure("a name has " + std::to_string(end - at) +
                       " bytes, and not at most " +
                       std::to_string(maxNameSize));
      add(Token::Kind::name, std::string(source.substr(at, end - at)));
      advance(end - at);
      return {};
    }
    for (const std::string_view symbol : symbols) {
      if (!source.substr(at).starts_with(symbol))
        continue;
      if (symbol == "(" || symbol == "[" || symbol == "{")
        ++depth;
      if ((symbol == ")" || symbol == "]" || symbol == "}") && depth > 0)
        --depth;
      add(Token::Kind::symbol, std::string(symbol));
      advance(symbol.size());
      return {};
    }
    return failure("`" + std::string(1, c) + "` is no part of an expression");
  }

  void numberToken() {
    auto digits = [&](size_t end) {
      while (end < source.size() &&
             (isDecimal(source[end]) || source[end] == '_'))
        ++end;
      return end;
    };
    size_t end = digits(at);
    bool isReal = false;
    if (end + 1 < source.size() && source[end] == '.' &&
        isDecimal(source[end + 1])) {
      isReal = true;
      end = digits(end + 1);
    }
    if (end < source.size() && (source[end] == 'e' || source[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < source.size() &&
          (source[exponent] == '-' || source[exponent] == '+'))
        ++exponent;
      if (exponent < source.size() && isDecimal(source[exponent])) {
        isReal = true;
        end = digits(exponent);
      }
    }
    std::string text(source.substr(at, end - at));
    std::erase(text, '_');
    add(isReal ? Token::Kind::real : Token::Kind::integer, std::move(text));
    advance(end - at);
  }

  Status stringToken(char quote) {
    const int begin = line;
    std::string text;
    size_t i = at + 1;
    while (i < source.size() && source[i] != quote) {
      if (source[i] != '\\') {
        text += source[i++];
        continue;
      }
      RECIPERUN_TRY(escape(i, text));
    }
    if (i >= source.size())
      return failure("a string has no closing " + std::string(1, quote));
    tokens.push_back({Token::Kind::string, std::move(text), begin});
    advance(i + 1 - at);
    return {};
  }

  /// Reads the escape at `i`, with Python's meaning.
  Status escape(size_t& i, std::string& text) const {
    constexpr std::string_view letters = "nrtbfav0\\'\"";
    constexpr std::string_view values("\n\r\t\b\f\a\v\0\\'\"", 11);
    const char c = i + 1 < source.size() ? source[i + 1] : '\0';
    if (const size_t known = letters.find(c); known != letters.npos) {
      text += values[known];
      i += 2;
      return {};
    }
    if (c == '\n') { // joins lines
      i += 2;
      return {};
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) { // unknown escapes stay as they are
      text += source[i++];
      return {};
    }
    const std::string hex(source.substr(i + 2, digits));
    const bool isHex =
        hex.size() == digits &&
        hex.find_first_not_of("0123456789abcdefABCDEF") == hex.npos;
    const uint32_t point =
        isHex ? uint32_t(std::stoul(hex, nullptr, 16)) : 0x110000;
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
      return failure("`\\" + std::string(1, c) + hex +
                     "` is no character of Unicode");
    text += encodeUtf8(point);
    i += 2 + digits;
    return {};
  }

  std::string_view source;
  size_t at = 0;
  int line = 1;
  std::vector<Token> tokens;
  std::string pending; // the text before the next tag
  size_t keptEnd = 0;  // bytes of `pending` that no rule may remove
  int textLine = 1;
  bool startsAtLine = true; // whether `pending` starts at the start of a line
};

} // namespace

Expected<std::vector<Token>> tokenize(std::string_view source) {
  std::string lines(source); // Jinja, too, makes all line breaks `\n`
  for (const std::string_view lineBreak : {"\r\n", "\r"})
    lines = replace(lines, lineBreak, "\n");
  return Lexer(lines).run();
}

} // namespace reciperun::jinja
