// Text to raw tokens, by ANTLR's lexer.
//
//   1. The text must be UTF-8; a byte order mark at the top is skipped.
//   2. ANTLR's lexer runs over code points; places are mapped back to bytes.
//   3. Comments go aside. Broken strings and stray characters are reported and
//      their lines marked as doubtful, so that nothing else is said of them.

#include "compiler/parse/Tokens.h"

#include "ANTLRInputStream.h"
#include "RecipeLexer.h"

#include <algorithm>
#include <cstdio>

namespace recipec::parse {

namespace {

constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// Length of the UTF-8 sequence at the front of `text` (Unicode 15, table 3-7);
/// 0 when there is none.
size_t sequenceLength(std::string_view text) {
  auto byte = [&](size_t i) {
    return i < text.size() ? (unsigned char)(text[i]) : 0;
  };
  auto isContinuation = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned char first = byte(0);
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return isContinuation(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    bool isOverlong = first == 0xE0 && byte(1) < 0xA0;
    bool isSurrogate = first == 0xED && byte(1) > 0x9F;
    bool isWhole = isContinuation(1) && isContinuation(2);
    return isWhole && !isOverlong && !isSurrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    bool isOverlong = first == 0xF0 && byte(1) < 0x90;
    bool isTooLarge = first == 0xF4 && byte(1) > 0x8F;
    bool isWhole = isContinuation(1) && isContinuation(2) && isContinuation(3);
    return isWhole && !isOverlong && !isTooLarge ? 4 : 0;
  }
  return 0;
}

/// Byte offset of each code point and of the text's end; empty for ASCII,
/// where the two are the same.
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
         diag::Engine& engine)
      : sources(sources), list(list), engine(engine),
        text(sources.text(range)) {
    list.source = range.source;
    offsets.base = range.begin;
  }

  bool run() {
    if (text.starts_with(byteOrderMark) && offsets.base == 0) {
      text.remove_prefix(byteOrderMark.size());
      offsets.base = uint32_t(byteOrderMark.size());
    }
    if (!mapOffsets())
      return false;
    tokenize();
    return true;
  }

private:
  bool mapOffsets() {
    bool isAscii = std::all_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x80;
    });
    if (isAscii)
      return true;
    for (size_t at = 0; at < text.size();) {
      size_t length = sequenceLength(text.substr(at));
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
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02X", (unsigned char)(text[at]));
    uint32_t offset = offsets.base + at;
    bool isFile = sources.kind(list.source) != SourceKind::commandLine;
    auto report =
        engine.report(diag::Kind::NotUtf8, {list.source, offset, offset + 1},
                      std::string(isFile ? "the file" : "the argument") +
                          " is not UTF-8: byte " + std::string(byte) +
                          " at offset " + std::to_string(offset));
    if (isFile)
      report.help("convert the file to UTF-8, for instance with `iconv`");
  }

  void tokenize() {
    antlr4::ANTLRInputStream input{std::string(text)};
    generated::RecipeLexer lexer(&input);
    lexer.removeErrorListeners();
    while (true) {
      std::unique_ptr<antlr4::Token> raw = lexer.nextToken();
      size_t type = raw->getType();
      if (type == TokenType::EOF)
        break;
      take({type, offsets(raw->getStartIndex()),
            offsets(raw->getStopIndex() + 1)});
      if (type == TokenType::BROKEN_STRING)
        skipLine(input);
    }
    uint32_t end = offsets.base + uint32_t(text.size());
    list.tokens.push_back({TokenType::EOF, end, end});
  }

  /// Behind a broken string the rest of the line makes no sense.
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
    // The lexer would have accepted the string but for an open brace.
    size_t brace = std::string_view::npos;
    for (size_t i = 1; i < string.size(); ++i) {
      if (string[i] == '\\')
        ++i;
      else if (string[i] == '{')
        brace = i;
      else if (string[i] == '}')
        brace = std::string_view::npos;
    }
    if (brace == std::string_view::npos) {
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

  void reportBrokenText(const Token& token) {
    engine
        .report(diag::Kind::UnclosedString,
                {list.source, token.begin, token.begin + 3},
                "the string that begins here is not closed")
        .help("end it with `\"\"\"` on a line of its own");
    list.doubtful.push_back(rangeOf(token));
  }

  void reportStray(const Token& token) {
    // One message a line: others would have the same cause.
    if (list.isDoubtful(token.begin))
      return;
    SourceRange range = rangeOf(token);
    std::string_view character = sources.text(range);
    bool isControl = character.size() == 1 &&
                     (static_cast<unsigned char>(character[0]) < 0x20 ||
                      character[0] == 0x7F);
    std::string name = "`" + std::string(character) + "`";
    if (isControl) {
      char code[8];
      std::snprintf(code, sizeof code, "U+%04X", character[0]);
      name = code;
    }
    auto report = engine.report(diag::Kind::UnexpectedCharacter, range,
                                "unexpected character " + name);
    if (std::string_view help = strayHelp(character); !help.empty())
      report.help(std::string(help));
    markLine(token);
  }

  static std::string_view strayHelp(std::string_view character) {
    if (character == ";")
      return "an item ends at the line's end or with a comma";
    if (character == "'" || character == "\xE2\x80\x9C" ||
        character == "\xE2\x80\x9D")
      return "strings are written with `\"`";
    if (character == "&")
      return "write `and`";
    if (character == "!")
      return "write `not`";
    if (static_cast<unsigned char>(character[0]) >= 0x80)
      return "names are written with the letters `a` to `z`, digits and `_`";
    return {};
  }

  const SourceMap& sources;
  TokenList& list;
  diag::Engine& engine;
  std::string_view text;
  ByteOffsets offsets;
};

} // namespace

bool lex(const SourceMap& sources, SourceRange range, TokenList& list,
         diag::Engine& engine) {
  return Lexing(sources, range, list, engine).run();
}

} // namespace recipec::parse
