// Text to raw tokens, by ANTLR's lexer.
//
//   1. The text must be UTF-8 and not too long. A byte order mark at the top is
//      skipped.
//   2. ANTLR's lexer runs over code points; offsets are mapped back to bytes.
//   It
//      stops when the file has too many tokens or too many errors.
//   3. Comments go to a separate list. Broken strings and stray characters are
//      reported. Their lines are marked as doubtful, which suppresses further
//      errors there.

#include "compiler/base/Utf8.h"
#include "compiler/parse/LookAlikes.h"
#include "compiler/parse/Tokens.h"

#include "ANTLRInputStream.h"
#include "RecipeLexer.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cctype>

namespace recipec::parse {

namespace {

/// Byte offset of each code point and of the text's end. Empty for ASCII, where
/// code point indices are byte offsets.
struct ByteOffsets {
  std::vector<uint32_t> offsets;
  uint32_t base = 0;

  uint32_t operator()(size_t codePoint) const {
    if (offsets.empty())
      return base + uint32_t(codePoint);
    return base + offsets[codePoint];
  }
};

class Lexing {
public:
  Lexing(const SourceMap& sources, SourceRange range, TokenList& list,
         TokenBudget& budget, diag::Engine& engine)
      : sources(sources), range(range), list(list), budget(budget),
        engine(engine), text(sources.text(range)) {
    list.source = range.source;
    offsets.base = range.begin;
  }

  bool run() {
    if (text.starts_with(byteOrderMark) && offsets.base == 0) {
      text.remove_prefix(byteOrderMark.size());
      offsets.base = uint32_t(byteOrderMark.size());
    }
    return checkLength() && checkInterpolations(sources, range, engine) &&
           mapOffsets() && tokenize();
  }

private:
  bool checkLength() {
    if (text.size() <= maxText)
      return true;
    engine
        .report(diag::Kind::TooLarge, {list.source, 0, 0},
                "this text has " + std::to_string(text.size()) +
                    " bytes, and a recipe has at most " +
                    std::to_string(maxText >> 20) + " MiB")
        .help(std::string(importHelp));
    return false;
  }

  bool mapOffsets() {
    if (llvm::isASCII(text))
      return true;
    for (size_t at = 0; at < text.size();) {
      size_t length = codePointLength(text.substr(at));
      if (length == 0) {
        reportNotUtf8(uint32_t(at));
        return false;
      }
      offsets.offsets.push_back(uint32_t(at));
      at += length;
    }
    offsets.offsets.push_back(uint32_t(text.size()));
    return true;
  }

  void reportNotUtf8(uint32_t at) {
    uint32_t offset = offsets.base + at;
    bool isFile = sources.kind(list.source) != SourceKind::commandLine;
    auto report =
        engine.report(diag::Kind::NotUtf8, {list.source, offset, offset + 1},
                      std::string(isFile ? "the file" : "the argument") +
                          " is not UTF-8: byte 0x" +
                          llvm::utohexstr((unsigned char)(text[at])) +
                          " at offset " + std::to_string(offset));
    if (isFile)
      report.help("convert the file to UTF-8, for instance with `iconv`");
  }

  /// Returns false when the budget is used up or the engine is full.
  bool tokenize() {
    antlr4::ANTLRInputStream input{std::string(text)};
    generated::RecipeLexer lexer(&input);
    lexer.removeErrorListeners();
    while (true) {
      std::unique_ptr<antlr4::Token> raw = lexer.nextToken();
      size_t type = raw->getType();
      if (type == TokenType::EOF)
        break;
      if (engine.isFull() || !spend(offsets(raw->getStartIndex())))
        return false;
      take({type, offsets(raw->getStartIndex()),
            offsets(raw->getStopIndex() + 1)});
      if (type == TokenType::BROKEN_STRING)
        skipLine(input);
    }
    noteRepeated();
    uint32_t end = offsets.base + uint32_t(text.size());
    list.tokens.push_back({TokenType::EOF, end, end});
    return true;
  }

  bool spend(uint32_t offset) {
    if (budget.left-- > 0)
      return true;
    budget.left = 0;
    if (std::exchange(budget.isReported, true))
      return false;
    engine
        .report(diag::Kind::TooLarge, {list.source, offset, offset + 1},
                "this file has more than " + std::to_string(maxTokens) +
                    " names, numbers, strings and signs")
        .help(std::string(importHelp));
    return false;
  }

  /// Skips the rest of the line after a broken string, which cannot be lexed.
  static void skipLine(antlr4::ANTLRInputStream& input) {
    while (input.LA(1) != '\n' && input.LA(1) != antlr4::IntStream::EOF)
      input.consume();
  }

  void take(Token token) {
    switch (token.type) {
    case TokenType::COMMENT:
      list.comments.push_back({token.begin, token.end});
      return;
    case TokenType::STRAY:
      reportStray(token);
      // `&&` also becomes `and`, so that the parser understands the rest.
      if (sources.text(list.source).substr(token.begin, 2) == "&&")
        list.tokens.push_back({TokenType::AND, token.begin, token.begin + 2});
      return;
    case TokenType::BROKEN_STRING:
      reportBrokenString(token);
      token.type = TokenType::STRING;
      token.isBroken = true;
      break;
    case TokenType::BROKEN_TEXT:
      reportBrokenText(token);
      token.type = TokenType::TEXT;
      token.isBroken = true;
      break;
    default:
      break;
    }
    list.tokens.push_back(token);
  }

  SourceRange rangeOf(const Token& token) const {
    return {list.source, token.begin, token.end};
  }

  void markLine(const Token& token) {
    int line = sources.lineColumn(list.source, token.begin).line;
    uint32_t begin = sources.lineBegin(list.source, line);
    size_t size = sources.lineText(list.source, line).size();
    list.doubtful.push_back({list.source, begin, begin + uint32_t(size) + 1});
  }

  void reportBrokenString(const Token& token) {
    if (list.isDoubtful(token.begin))
      return;
    SourceRange range = rangeOf(token);
    std::string_view string = sources.text(range);
    // The lexer would have accepted the string without an open brace.
    size_t brace = std::string_view::npos, escaping = brace;
    for (size_t i = 1; i < string.size(); ++i) {
      if (string[i] == '\\' && brace != std::string_view::npos)
        escaping = brace;
      if (string[i] == '\\')
        ++i;
      else if (string[i] == '{')
        brace = i;
      else if (string[i] == '}')
        brace = std::string_view::npos;
    }
    if (escaping != std::string_view::npos) {
      uint32_t at = token.begin + uint32_t(escaping);
      engine
          .report(
              diag::Kind::UnclosedString, {list.source, at, at + 1},
              "this `{` begins an interpolation, in which no `\\` may stand")
          .help("write a brace of the text as `\\{`");
    } else if (size_t nested = nestedBrace(string);
               nested != string.npos && isClosedBehind(token)) {
      reportNestedBrace(token, string, nested);
    } else if (size_t word = wordBefore(token);
               brace == std::string_view::npos && word < token.begin) {
      const std::string name(
          sources.text({list.source, uint32_t(word), token.begin}));
      engine
          .report(diag::Kind::UnclosedString,
                  {list.source, uint32_t(word), token.begin + 1},
                  "the string has no `\"` before `" + name + "`")
          .help("write `\"" + name + "\"`")
          .fixIt({list.source, uint32_t(word), uint32_t(word)}, "\"",
                 diag::Applicability::safe);
    } else if (brace == std::string_view::npos) {
      engine
          .report(diag::Kind::UnclosedString, range,
                  "the string is not closed on its line")
          .help("end it with `\"`; write a line break as `\\n`");
    } else {
      uint32_t at = token.begin + uint32_t(brace);
      engine
          .report(diag::Kind::UnclosedString, {list.source, at, token.end},
                  "the interpolation in the string is not closed")
          .help("end it with `}`; write a brace of the text as `\\{`");
    }
    markLine(token);
  }

  /// Where the name begins that touches a token from the left.
  size_t wordBefore(const Token& token) const {
    std::string_view all = sources.text(list.source);
    size_t begin = token.begin;
    while (begin > 0 &&
           (std::isalnum(static_cast<unsigned char>(all[begin - 1])) ||
            all[begin - 1] == '_'))
      --begin;
    return begin;
  }

  /// The first `{` directly behind a `{` of the text; npos if there is none.
  static size_t nestedBrace(std::string_view string) {
    for (size_t i = 1; i + 1 < string.size(); ++i) {
      if (string[i] == '\\')
        ++i;
      else if (string[i] == '{' && string[i + 1] == '{')
        return i;
    }
    return std::string_view::npos;
  }

  /// Whether the token before which the lexer gave up ends in `"` on its line.
  bool isClosedBehind(const Token& token) const {
    std::string_view all = sources.text(list.source);
    return token.end < all.size() && all[token.end] == '"';
  }

  /// `"{% for m in messages %}{{ m.content }}{% endfor %}"`: one error for the
  /// whole template.
  void reportJinja(const Token& token) {
    std::string_view all = sources.text(list.source);
    size_t end = all.find('\n', token.begin);
    if (all.substr(token.begin).starts_with("\"\"\"")) {
      const size_t marks = all.find("\"\"\"", token.begin + 3);
      end = marks == all.npos ? all.size() : marks + 3;
    }
    const SourceRange range{list.source, token.begin,
                            uint32_t(std::min(end, all.size()))};
    engine
        .report(diag::Kind::UnclosedString, range,
                "a recipe takes no Jinja template")
        .help("write the texts around a message: `chat { before = "
              "\"<|im_start|>\\{role}\\n\", after = \"<|im_end|>\\n\" }`");
    list.doubtful.push_back(range);
  }

  /// `"runs/{{name}}"`, as templates write it.
  void reportNestedBrace(const Token& token, std::string_view string,
                         size_t open) {
    std::string_view all = sources.text(list.source);
    if (all.substr(token.begin, all.find('\n', token.begin) - token.begin)
            .find("{%") != all.npos)
      return reportJinja(token);
    const size_t close = string.find("}}", open);
    const uint32_t begin = token.begin + uint32_t(open);
    if (close == string.npos) {
      engine
          .report(diag::Kind::UnclosedString, {list.source, begin, begin + 2},
                  "this `{` begins an interpolation, in which no `{` may stand")
          .help("write braces of the text as `\\{` and `\\}`");
      return;
    }
    std::string_view name = string.substr(open + 2, close - open - 2);
    const size_t first = name.find_first_not_of(' ');
    const size_t last = name.find_last_not_of(' ');
    const std::string hole =
        first == name.npos
            ? "{name}"
            : "{" + std::string(name.substr(first, last - first + 1)) + "}";
    engine
        .report(diag::Kind::UnclosedString,
                {list.source, begin, token.begin + uint32_t(close) + 2},
                "an interpolation has one pair of braces")
        .help("write `" + hole + "`; a brace of the text is written `\\{`")
        .fixIt({list.source, begin, token.begin + uint32_t(close) + 2}, hole,
               diag::Applicability::safe);
  }

  void reportBrokenText(const Token& token) {
    engine
        .report(diag::Kind::UnclosedString,
                {list.source, token.begin, token.begin + 3},
                "the string that begins here is not closed")
        .help("end it with `\"\"\"` on a line of its own");
    list.doubtful.push_back(rangeOf(token));
  }

  void reportStray(const Token& token) {
    // One message per line: further stray characters have the same cause.
    if (list.isDoubtful(token.begin))
      return;
    SourceRange range = rangeOf(token);
    std::string_view character = sources.text(range);
    std::optional<LookAlike> meant = lookAlikeOf(character);
    const std::string message =
        "unexpected " + (meant ? meant->name : nameOf(character));
    // Whoever writes one `;` writes it at the end of all lines.
    if (Repeated* earlier = repeated(message)) {
      ++earlier->lines;
      if (earlier->lines == 1)
        earlier->nextLine = sources.lineColumn(list.source, token.begin).line;
      auto first = engine.at(earlier->diagnostic);
      correctLine(token, first);
      markLine(token);
      return;
    }
    if (character == ";" || isQuote(character))
      strays.push_back({message, engine.all().size()});
    auto report =
        engine.report(diag::Kind::UnexpectedCharacter, range, message);
    if (isBehindType(token)) {
      report.help("a type that may be `none` is written `T | none`")
          .fixIt(range, " | none", diag::Applicability::safe);
      markLine(token);
      return;
    }
    if (std::string help = strayHelp(token, meant); !help.empty()) {
      report.help(help);
      if (isQuote(character)) // where the edit of the line does not work
        report.otherwise(std::move(help));
    }
    correctLine(token, report);
    markLine(token);
  }

  /// A stray character that was reported, and the lines with more of it.
  struct Repeated {
    std::string message;
    size_t diagnostic; // index in the engine
    int lines = 0;
    int nextLine = 0;
  };

  Repeated* repeated(const std::string& message) {
    for (Repeated& each : strays)
      if (each.message == message)
        return &each;
    return nullptr;
  }

  void noteRepeated() {
    for (const Repeated& each : strays)
      if (each.lines == 1)
        engine.at(each.diagnostic)
            .note("the same in line " + std::to_string(each.nextLine));
      else if (each.lines > 1)
        engine.at(each.diagnostic)
            .note("the same in " + std::to_string(each.lines) +
                  " more lines, from line " + std::to_string(each.nextLine) +
                  " on");
  }

  /// Whether the innermost open bracket is a square or round one.
  bool isInList() const {
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

  /// `name : string?`: whether a `?` ends a type behind a `:`.
  bool isBehindType(const Token& token) const {
    std::string_view all = sources.text(list.source);
    if (all[token.begin] != '?' || list.tokens.size() < 2 ||
        list.tokens.back().end != token.begin)
      return false;
    return list.tokens[list.tokens.size() - 2].type == TokenType::COLON;
  }

  static std::string nameOf(std::string_view character) {
    bool isControl = character.size() == 1 &&
                     (static_cast<unsigned char>(character[0]) < 0x20 ||
                      character[0] == 0x7F);
    if (!isControl)
      return "character `" + std::string(character) + "`";
    return "character " + codePointName(character);
  }

  static bool isQuote(std::string_view character) {
    std::optional<LookAlike> meant = lookAlikeOf(character);
    return character == "'" || character == "`" || (meant && meant->isQuote);
  }

  std::string_view restOfLine(uint32_t from) const {
    std::string_view rest = sources.text(list.source).substr(from);
    return rest.substr(0, rest.find('\n'));
  }

  /// The text between a foreign quotation mark at the front of `text` and the
  /// next quotation mark. Returns nullopt if the text cannot go between `"`
  /// unchanged.
  static std::optional<std::string_view> quotedIn(std::string_view text) {
    size_t begin = codePointLength(text);
    for (size_t at = begin; at < text.size();
         at += codePointLength(text.substr(at))) {
      std::string_view character =
          text.substr(at, codePointLength(text.substr(at)));
      if (isQuote(character) || character == "\"")
        return text.substr(begin, at - begin);
      if (character == "\\" || character == "{" || character == "\r")
        return std::nullopt;
    }
    return std::nullopt;
  }

  /// Adds edits for the rest of the line from a stray character on. Very long
  /// lines, which nobody writes by hand, get none.
  void correctLine(const Token& token, diag::Builder& report) {
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

  /// `for (i = 0; i < n; i++) {`
  bool beginsLoop(const Token& token) const {
    const int line = sources.lineColumn(list.source, token.begin).line;
    std::string_view text = sources.lineText(list.source, line);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text.starts_with("for");
  }

  /// The forms of other languages that have a `?` or `&`: `a ?? b`, `a?.b`,
  /// `&anchor`.
  std::string operatorHelp(const Token& token) const {
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
  std::string ternaryHelp(const Token& token) const {
    const std::string_view all = sources.text(list.source);
    auto trimmed = [](std::string_view part) {
      const size_t begin = part.find_first_not_of(' ');
      return begin == part.npos
                 ? std::string()
                 : std::string(part.substr(begin, part.find_last_not_of(' ') +
                                                      1 - begin));
    };
    std::string_view before = all.substr(0, token.begin);
    // The `=` of a setting, and not that of `a == b` or `a <= b`.
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
    return "write `if " + condition + " then " +
           trimmed(rest.substr(0, colon)) + " else " +
           trimmed(behind.substr(0, behind.find_first_of(",)}]#"))) + "`";
  }

  std::string strayHelp(const Token& token,
                        const std::optional<LookAlike>& meant) const {
    std::string_view character = sources.text(rangeOf(token));
    if (isQuote(character))
      return "strings are written with `\"`";
    if (meant && meant->replacement.empty())
      return "leave it out";
    if (meant)
      return meant->replacement == " " ? "write a space"
                                       : "write `" + meant->replacement + "`";
    if (std::string help = operatorHelp(token); !help.empty())
      return help;
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

  static constexpr std::string_view importHelp =
      "import long lists as data, from a `.json` or `.yaml` file";

  const SourceMap& sources;
  SourceRange range;
  TokenList& list;
  TokenBudget& budget;
  diag::Engine& engine;
  std::string_view text;
  ByteOffsets offsets;
  std::vector<Repeated> strays;
};

} // namespace

bool lex(const SourceMap& sources, SourceRange range, TokenList& list,
         TokenBudget& budget, diag::Engine& engine) {
  return Lexing(sources, range, list, budget, engine).run();
}

} // namespace recipec::parse
