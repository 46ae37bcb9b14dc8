// Translates Oniguruma's regular expressions to PCRE2's.
//
// 1. Walk the expression, tracking character classes.
// 2. Copy syntax that both share; rewrite the escapes that differ.
// 3. Refuse syntax with another meaning in PCRE2 (class intersections and
//    nested classes, unknown escapes), naming the offset.

#include "runtime/data/Pattern.h"

#include <algorithm>
#include <array>

namespace reciperun::data {

namespace {

// Oniguruma's \w in Unicode text (doc/RE, "character types").
constexpr std::string_view wordClass =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
constexpr std::string_view hexClass = "0-9A-Fa-f";

class Translator {
public:
  explicit Translator(std::string_view source) : source(source) {}

  Expected<std::string> run() {
    while (at < source.size())
      RECIPERUN_TRY(step());
    if (inClass)
      return refused("a character class without its `]`");
    return std::move(result);
  }

private:
  Status step() {
    const char c = source[at];
    if (c == '\\')
      return escape();
    if (inClass)
      return insideClass(c);
    if (c == '[')
      return openClass();
    if (source.substr(at).starts_with("(?"))
      RECIPERUN_TRY(groupOptions());
    copy(1);
    return {};
  }

  /// Ruby's `m` is PCRE2's `s`; `i` and `x` are the same in both.
  Status groupOptions() const {
    const std::string_view rest = source.substr(at + 2);
    const size_t end = rest.find_first_not_of("imsx-");
    if (rest.substr(0, end).find_first_of("ms") != std::string_view::npos)
      return refused("the group option `m` or `s`");
    return {};
  }

  Status openClass() {
    inClass = true;
    copy(1);
    if (peek() == '^')
      copy(1);
    // The first `]` of a class is a member in both syntaxes.
    if (peek() == ']')
      copy(1);
    return {};
  }

  Status insideClass(char c) {
    if (c == '[' && source.substr(at).starts_with("[:")) {
      const size_t end = source.find(":]", at);
      if (end == std::string_view::npos)
        return refused("a class name without its `:]`");
      copy(end + 2 - at);
      return {};
    }
    if (c == '[')
      return refused("a character class inside another");
    if (source.substr(at).starts_with("&&"))
      return refused("an intersection (`&&`) of character classes");
    if (c == ']')
      inClass = false;
    copy(1);
    return {};
  }

  Status escape() {
    if (at + 1 == source.size())
      return refused("a `\\` at the end");
    const char c = source[at + 1];
    switch (c) {
    case 's':
      return replace(2, "\\p{White_Space}");
    case 'S':
      return replace(2, "\\P{White_Space}");
    case 'w':
      return members(wordClass);
    case 'W':
      return complement(wordClass);
    case 'h':
      return members(hexClass);
    case 'H':
      return complement(hexClass);
    case 'v':
      return replace(2, "\\x{0B}");
    case 'u':
      return codePoint();
    case 'p':
    case 'P':
      return property();
    default:
      break;
    }
    static constexpr std::string_view alike = "dDrntfaebBAzZGxk";
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter && alike.find(c) == std::string_view::npos)
      return refused(std::string("the escape `\\") + c + "`");
    copy(2);
    return {};
  }

  Status members(std::string_view set) {
    const std::string text(set);
    return replace(2, inClass ? text : "[" + text + "]");
  }

  Status complement(std::string_view set) {
    if (inClass)
      return refused("a negated escape inside a character class");
    return replace(2, "[^" + std::string(set) + "]");
  }

  Status codePoint() {
    const std::string_view digits = source.substr(at + 2, 4);
    static constexpr std::string_view hex = "0123456789abcdefABCDEF";
    if (digits.size() < 4 ||
        digits.find_first_not_of(hex) != std::string_view::npos)
      return refused("`\\u` without four hexadecimal digits");
    return replace(6, "\\x{" + std::string(digits) + "}");
  }

  Status property() {
    if (source.substr(at + 2, 1) != "{") {
      copy(std::min<size_t>(3, source.size() - at)); // \pL
      return {};
    }
    const size_t end = source.find('}', at);
    if (end == std::string_view::npos)
      return refused("a property without its `}`");
    std::string_view name = source.substr(at + 3, end - at - 3);
    const bool negated = name.starts_with("^");
    if (negated)
      name.remove_prefix(1);
    std::string text = std::string("\\") + source[at + 1] + "{";
    if (negated)
      text += '^';
    if (isScript(name))
      text += "sc:";
    return replace(end + 1 - at, text + std::string(name) + "}");
  }

  /// General categories have one or two letters; the few binary properties
  /// that expressions use are listed; every other name is a script.
  static bool isScript(std::string_view name) {
    static constexpr std::array<std::string_view, 11> binary = {
        "Any",
        "Alphabetic",
        "White_Space",
        "Alpha",
        "Lowercase",
        "Uppercase",
        "Emoji",
        "Ideographic",
        "Join_Control",
        "Math",
        "Extended_Pictographic"};
    if (name.size() <= 2)
      return false;
    for (std::string_view known : binary)
      if (name == known)
        return false;
    return true;
  }

  Status replace(size_t length, const std::string& text) {
    result += text;
    at += length;
    return {};
  }
  void copy(size_t length) {
    result += source.substr(at, length);
    at += length;
  }
  char peek() const { return at < source.size() ? source[at] : '\0'; }

  Status refused(const std::string& what) const {
    return Status::error("the regular expression `" + std::string(source) +
                         "` has " + what + " at byte " +
                         std::to_string(at + 1) +
                         ", which is not supported; name the tokenizer of "
                         "another model");
  }

  std::string_view source;
  size_t at = 0;
  bool inClass = false;
  std::string result;
};

} // namespace

Expected<std::string> translatePattern(std::string_view expression) {
  return Translator(expression).run();
}

} // namespace reciperun::data
