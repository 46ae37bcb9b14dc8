// Text to raw tokens, by ANTLR's lexer.
//
//   1. The text must be UTF-8 and not too long. A byte order mark at the top is
//      skipped.
//   2. ANTLR's lexer runs over code points; offsets are mapped back to bytes.
//      It stops when the file has too many tokens or too many errors.
//   3. Comments go to a separate list. Broken strings and stray characters are
//      reported. Their lines are marked as doubtful, which suppresses further
//      errors there.

#include "compiler/base/Utf8.h"
#include "compiler/parse/LookAlikes.h"
#include "compiler/parse/StrayCharacters.h"
#include "compiler/parse/Tokens.h"

#include "ANTLRInputStream.h"
#include "RecipeLexer.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cctype>
#include <optional>

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
        engine(engine), text(sources.text(range)), characters(sources, list) {
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
        skipString(input);
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

  /// Skips a broken string, which cannot be lexed: the rest of the line, or the
  /// lines up to its closing mark.
  void skipString(antlr4::ANTLRInputStream& input) const {
    const uint32_t end = list.tokens.back().end;
    auto goesOn = [&] {
      return isClosedBelow ? offsets(input.index()) < end : input.LA(1) != '\n';
    };
    while (input.LA(1) != antlr4::IntStream::EOF && goesOn())
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
      if (const auto end = endBelow(token); (isClosedBelow = end.has_value())) {
        token.end = *end;
        reportLines(token);
      } else {
        reportBrokenString(token);
      }
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

  /// The end of a string that continues over several lines of prose. Returns
  /// nullopt if the string ends on its line or never. The lines between may
  /// contain neither a `"` nor an item.
  std::optional<uint32_t> endBelow(const Token& token) const {
    constexpr int mostLines = 30;
    const std::string_view all = sources.text(list.source);
    size_t begin = all.find('\n', token.begin);
    if (list.isDoubtful(token.begin) ||
        sources.text(rangeOf(token)).find('{') != all.npos ||
        all.substr(token.end, begin - token.end).find('"') != all.npos)
      return std::nullopt;
    for (int i = 0; i < mostLines && begin < all.size(); ++i) {
      const size_t end = std::min(all.find('\n', begin + 1), all.size());
      const std::string_view line = all.substr(begin + 1, end - begin - 1);
      const size_t quote = line.find('"');
      if (line.substr(0, quote).find_first_of("={}#") != line.npos)
        return std::nullopt;
      if (quote != line.npos)
        return isEndOfLine(line.substr(quote + 1))
                   ? std::optional(uint32_t(begin + 2 + quote))
                   : std::nullopt;
      begin = end;
    }
    return std::nullopt;
  }
  static bool isEndOfLine(std::string_view rest) {
    const size_t end = rest.find_first_not_of(" \t\r,)]}");
    return end == rest.npos || rest[end] == '#';
  }

  /// Reports a string over several lines, and proposes to join them.
  void reportLines(const Token& token) {
    constexpr size_t longest = 100;
    const std::string_view text = sources.text(rangeOf(token));
    const bool isProse = text.find(' ') < text.find('\n');
    std::string own;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      const size_t first = line.find_first_not_of(" \t");
      if (first != line.npos)
        line = line.substr(at == 0 ? 0 : first);
      own += (own.empty() || !isProse ? "" : "\\n") +
             std::string(line.substr(0, line.find_last_not_of(" \t\r") + 1));
      at = end + 1;
    }
    const int line = sources.lineColumn(list.source, token.end - 1).line;
    auto report = engine.report(
        diag::Kind::UnclosedString, rangeOf(token),
        "a string ends on its line, and this one goes on to line " +
            std::to_string(line));
    list.doubtful.push_back(rangeOf(token));
    if (own.size() > longest)
      report.help("write `\"\"\"`, the lines below it, each indented like the "
                  "last, and `\"\"\"` on a line of its own");
    else
      report.help("write `" + own + "`").fixIt(rangeOf(token), own);
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

  /// Whether a `"` directly follows the text where the lexer gave up.
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
    // A user who writes one `;` writes it at the end of every line.
    if (Repeated* earlier = repeated(message)) {
      ++earlier->lines;
      if (earlier->lines == 1)
        earlier->nextLine = sources.lineColumn(list.source, token.begin).line;
      auto first = engine.at(earlier->diagnostic);
      characters.correctLine(token, first);
      markLine(token);
      return;
    }
    if (character == ";" || StrayCharacters::isQuote(character))
      strays.push_back({message, engine.all().size()});
    auto report =
        engine.report(diag::Kind::UnexpectedCharacter, range, message);
    if (character == "?" &&
        (helpWithType(token, report) || helpWithOptionalField(token, report))) {
      markLine(token);
      return;
    }
    if (character == ";" && isFirstOnLine(token)) {
      report.help("comments begin with `#`")
          .fixIt(range, "#", diag::Applicability::safe);
      markLine(token);
      return;
    }
    if (std::string help = characters.help(token, meant); !help.empty()) {
      report.help(help);
      report.otherwise(std::move(help)); // where the line has other errors
    }
    characters.correctLine(token, report);
    markLine(token);
  }

  bool isFirstOnLine(const Token& token) const {
    const std::string_view all = sources.text(list.source);
    const size_t before = all.find_last_not_of(" \t", token.begin - 1);
    return token.begin == 0 || before == all.npos || all[before] == '\n';
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

  /// `name : string?`, `sizes : [int]?`
  bool helpWithType(const Token& token, diag::Builder& report) const {
    size_t first = list.tokens.size();
    auto isPart = [](size_t type) {
      return isName(type) || type == TokenType::DOT ||
             type == TokenType::LBRACKET || type == TokenType::RBRACKET;
    };
    while (first > 0 && isPart(list.tokens[first - 1].type))
      --first;
    if (first == 0 || first == list.tokens.size() ||
        list.tokens[first - 1].type != TokenType::COLON ||
        list.tokens.back().end != token.begin)
      return false;
    const std::string type(
        sources.text({list.source, list.tokens[first].begin, token.begin}));
    report
        .help("a type that may be `none` is written with `|`: write `" + type +
              " | none`")
        .fixIt(rangeOf(token), " | none", diag::Applicability::safe);
    return true;
  }

  /// `limit? : int`, a field or a parameter that may be left out
  bool helpWithOptionalField(const Token& token, diag::Builder& report) const {
    const std::string_view all = sources.text(list.source);
    const size_t count = list.tokens.size();
    const size_t colon = all.find_first_not_of(' ', token.end);
    auto begins = [](size_t type) {
      return type == TokenType::NEWLINE || type == TokenType::OPEN ||
             type == TokenType::COMMA || type == TokenType::LPAREN;
    };
    if (count == 0 || list.tokens.back().end != token.begin ||
        !isName(list.tokens.back().type) ||
        (count > 1 && !begins(list.tokens[count - 2].type)) ||
        colon == all.npos || all[colon] != ':')
      return false;
    const size_t end =
        std::min(all.find_first_of("=,){}#\r\n", colon), all.size());
    std::string type(all.substr(colon + 1, end - colon - 1));
    type.erase(0, type.find_first_not_of(' '));
    type.erase(type.find_last_not_of(' ') + 1);
    if (type.empty())
      return false;
    const std::string name(sources.text(list.range(count - 1)));
    const bool hasDefault = end < all.size() && all[end] == '=';
    const std::string own =
        " : " + type + (hasDefault ? " " : " | none = none");
    report
        .help(hasDefault
                  ? "leave out the `?`: what has a default may be left out"
                  : "what may be left out has a default: write `" + name + own +
                        "`")
        .fixIt({list.source, token.begin, uint32_t(end)},
               all.substr(end, 1) == "}" ? own + " " : own,
               diag::Applicability::safe);
    return true;
  }

  static std::string nameOf(std::string_view character) {
    bool isControl = character.size() == 1 &&
                     (static_cast<unsigned char>(character[0]) < 0x20 ||
                      character[0] == 0x7F);
    if (!isControl)
      return "character `" + std::string(character) + "`";
    return "character " + codePointName(character);
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
  StrayCharacters characters;
  std::vector<Repeated> strays;
  bool isClosedBelow = false; // the last broken string, by `endBelow`
};

} // namespace

bool lex(const SourceMap& sources, SourceRange range, TokenList& list,
         TokenBudget& budget, diag::Engine& engine) {
  return Lexing(sources, range, list, budget, engine).run();
}

} // namespace recipec::parse
