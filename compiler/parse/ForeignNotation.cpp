// Items in the notation of YAML and JSON, rewritten to ours.
//
// Input: the tokens of the lexer. In the braces of recipes, mixins, records and
// maps, a name before `:`, or a string before `:` or `=`, begins an item in
// another notation. One pass with a stack of open brackets:
//
//   1. A string before `:` or `=` becomes a name, or `["key"]` if it is not a
//      name.
//   2. A `:` becomes `=`; before a brace it is dropped.
//   3. Indented lines after `name:` get braces; lines that begin with `-` get
//      square brackets.
//   4. Every change of a token is also an edit of the text. The first item is
//      reported as one error, with all edits of the file.
//
// The result is in our notation, so the parser reports no errors that follow
// from the first. Braces of schemas and models, where `:` gives a type, and of
// functions and blocks stay as they are.

#include "compiler/parse/Powers.h"
#include "compiler/parse/Tokens.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace recipec::parse {
namespace {

class Notation {
public:
  Notation(const SourceMap& sources, TokenList& list, diag::Engine& engine)
      : sources(sources), list(list), engine(engine),
        raw(std::move(list.tokens)) {
    list.tokens.clear();
  }

  void run() {
    stack.push_back({TokenType::EOF, Body::ignored});
    for (at = 0; at < raw.size(); ++at)
      step();
    if (!items.empty())
      report();
  }

private:
  enum class Body { ignored, fields, map };

  struct Open {
    size_t type;
    Body body = Body::ignored;
    size_t head = TokenType::EOF; // type of the first token of the item
    int indent = -1;              // of the key of indented lines
    bool isList = false;          // lines that begin with `-`
    bool hasElement = false;
  };

  /// One item in another notation.
  struct Item {
    SourceRange key;
    uint32_t begin, end;
    std::string message;
  };

  struct Edit {
    SourceRange range;
    std::string text;
  };

  // ---- tokens

  size_t type(size_t token) const {
    return token < raw.size() ? raw[token].type : size_t(TokenType::EOF);
  }
  std::string_view textOf(size_t token) const {
    return sources.text({list.source, raw[token].begin, raw[token].end});
  }
  /// The next token other than a line break.
  size_t behindLines(size_t token) const {
    while (type(token) == TokenType::NEWLINE)
      ++token;
    return token;
  }
  int indentOf(size_t token) const {
    return sources.lineColumn(list.source, raw[token].begin).column - 1;
  }
  bool isFirstOnLine(size_t token) const {
    return token == 0 || type(token - 1) == TokenType::NEWLINE;
  }
  void emit(size_t type, uint32_t begin, uint32_t end) {
    list.tokens.push_back({type, begin, end});
    if (begin == end)
      list.tokens.back().isInserted = true;
  }
  void edit(uint32_t begin, uint32_t end, std::string text) {
    const bool isAtLast = !edits.empty() && begin == end &&
                          edits.back().range.begin == begin &&
                          edits.back().range.end == end;
    if (isAtLast)
      edits.back().text += text;
    else
      edits.push_back({{list.source, begin, end}, std::move(text)});
  }
  uint32_t endOfLast() const {
    for (size_t i = list.tokens.size(); i > 0; --i)
      if (list.tokens[i - 1].type != TokenType::NEWLINE)
        return list.tokens[i - 1].end;
    return 0;
  }

  // ---- the pass

  void step() {
    const size_t kind = type(at);
    if (kind == TokenType::EOF || (isFirstOnLine(at) && !isBlank(kind)))
      closeIndented(kind == TokenType::EOF ? -1 : indentOf(at));
    if (beginsItem && !isBlank(kind))
      stack.back().head = kind;
    const bool isAtItem =
        beginsItem && stack.back().body != Body::ignored && !isBlank(kind);
    if (kind == TokenType::CLOSE || kind == TokenType::RPAREN ||
        kind == TokenType::RBRACKET)
      return close();
    if (isAtItem && stack.back().isList)
      return element();
    if (isAtItem && foreignKey())
      return;
    if (kind == TokenType::OPEN || kind == TokenType::LPAREN ||
        kind == TokenType::LBRACKET)
      return open();
    list.tokens.push_back(raw[at]);
    beginsItem = kind == TokenType::NEWLINE || kind == TokenType::COMMA;
  }

  static bool isBlank(size_t type) { return type == TokenType::NEWLINE; }

  void open() {
    list.tokens.push_back(raw[at]);
    stack.push_back({type(at), bodyOf(at), stack.back().head});
    beginsItem = type(at) == TokenType::OPEN;
  }

  /// Whether the braces hold the cases of `match size {`.
  bool isChoice(size_t brace) const {
    size_t first = brace;
    while (first > 0 && type(first - 1) != TokenType::NEWLINE &&
           type(first - 1) != TokenType::ASSIGN &&
           type(first - 1) != TokenType::RETURN &&
           type(first - 1) != TokenType::OPEN)
      --first;
    return first + 1 < brace && isChoiceWord(textOf(first));
  }

  /// The kind of body that the braces at `brace` hold, by the item around them.
  Body bodyOf(size_t brace) const {
    if (type(brace) != TokenType::OPEN)
      return Body::ignored;
    if (isChoice(brace))
      return Body::ignored;
    const bool isOfFile = stack.size() == 1;
    const size_t before = brace > 0 ? type(brace - 1) : size_t(TokenType::EOF);
    const bool beginsValue = !isName(before) && before != TokenType::RPAREN;
    switch (stack.back().head) {
    case TokenType::SCHEMA:
    case TokenType::MODEL:
    case TokenType::IMPORT:
      // `model` and `schema` are names of fields between braces.
      if (isOfFile)
        return Body::ignored;
      break;
    case TokenType::FUN:
    case TokenType::BLOCK:
      return Body::ignored;
    case TokenType::FOR:
    case TokenType::IF:
      return stack.back().body;
    case TokenType::ABSTRACT:
    case TokenType::RECIPE:
    case TokenType::MIXIN:
    case TokenType::LET:
      break;
    default:
      if (isOfFile)
        return Body::ignored;
      break;
    }
    return beginsValue ? Body::map : Body::fields;
  }

  void close() {
    while (stack.size() > 1 && stack.back().indent >= 0)
      closeTop();
    list.tokens.push_back(raw[at]);
    if (stack.size() > 1)
      stack.pop_back();
    beginsItem = false;
  }

  /// Closes the indented lines that end before a line with this indentation.
  void closeIndented(int indent) {
    while (stack.size() > 1 && stack.back().indent >= 0 &&
           (stack.back().isList && type(at) == TokenType::MINUS
                ? indent < stack.back().indent
                : indent <= stack.back().indent))
      closeTop();
  }

  void closeTop() {
    const Open top = stack.back();
    const uint32_t end = endOfLast();
    std::optional<Token> line;
    while (!list.tokens.empty() &&
           list.tokens.back().type == TokenType::NEWLINE) {
      line = list.tokens.back();
      list.tokens.pop_back();
    }
    emit(top.isList ? TokenType::RBRACKET : TokenType::CLOSE, end, end);
    if (line)
      list.tokens.push_back(*line);
    edit(end, end,
         top.isList ? "]" : "\n" + std::string(size_t(top.indent), ' ') + "}");
    stack.pop_back();
    beginsItem = line.has_value();
    for (Item& item : items)
      if (item.end == 0)
        item.end = end;
  }

  /// `- "q"` in a list of lines.
  void element() {
    if (type(at) != TokenType::MINUS) {
      list.tokens.push_back(raw[at]);
      beginsItem = type(at) == TokenType::NEWLINE;
      return;
    }
    if (std::exchange(stack.back().hasElement, true)) {
      emit(TokenType::COMMA, endOfLast(), endOfLast());
      edit(list.tokens.back().begin, list.tokens.back().begin, ",");
    }
    const bool hasSpace = raw[at + 1].begin > raw[at].end;
    edit(raw[at].begin, raw[at].end + hasSpace, "");
    const size_t word = at + 1;
    if (type(word) == TokenType::IDENTIFIER &&
        (type(word + 1) == TokenType::NEWLINE ||
         type(word + 1) == TokenType::EOF))
      edit(raw[word].begin, raw[word].end,
           "\"" + std::string(textOf(word)) + "\"");
    beginsItem = false;
  }

  // ---- keys

  /// The token after the key at `at`; nullopt if no item in another notation
  /// begins there.
  std::optional<size_t> behindKey() const {
    size_t sign = at + 1;
    if (type(at) == TokenType::STRING)
      return type(sign) == TokenType::COLON || type(sign) == TokenType::ASSIGN
                 ? std::optional(sign)
                 : std::nullopt;
    if (!isName(type(at)))
      return std::nullopt;
    while (type(sign) == TokenType::DOT && isName(type(sign + 1)))
      sign += 2;
    if (isFatArrow(sign))
      return sign;
    if (type(sign) != TokenType::COLON || type(sign + 1) == TokenType::ASSIGN ||
        isTyped(sign + 1))
      return std::nullopt;
    return sign;
  }

  /// Whether a token and the next one are `=>`.
  bool isFatArrow(size_t sign) const {
    return type(sign) == TokenType::ASSIGN &&
           type(sign + 1) == TokenType::GREATER &&
           raw[sign].end == raw[sign + 1].begin;
  }

  /// Whether a type follows: `float`, `[int]`, or any text before an `=`.
  bool isTyped(size_t value) const {
    static constexpr std::string_view types[] = {
        "int",   "float",  "bool",   "string", "bytes", "duration",
        "steps", "epochs", "tokens", "any",    "dim",   "str"};
    const bool isType =
        std::count(std::begin(types), std::end(types),
                   type(value) == TokenType::EOF ? std::string_view()
                                                 : textOf(value)) > 0;
    if (isType && (type(value + 1) == TokenType::NEWLINE ||
                   type(value + 1) == TokenType::CLOSE ||
                   type(value + 1) == TokenType::COMMA))
      return true;
    int depth = 0;
    for (size_t i = value; i < raw.size(); ++i) {
      const size_t kind = type(i);
      depth += kind == TokenType::OPEN || kind == TokenType::LPAREN ||
               kind == TokenType::LBRACKET;
      depth -= kind == TokenType::CLOSE || kind == TokenType::RPAREN ||
               kind == TokenType::RBRACKET;
      const bool isEnd = depth < 0 || kind == TokenType::EOF ||
                         (depth == 0 && (kind == TokenType::NEWLINE ||
                                         kind == TokenType::COMMA));
      if (isEnd)
        return false;
      if (depth == 0 && kind == TokenType::ASSIGN)
        return true;
      if (kind == TokenType::NEWLINE)
        return false;
    }
    return false;
  }

  /// `k: v for k in ks`
  bool isComprehension(size_t value) const {
    for (size_t i = value; i < raw.size(); ++i)
      if (type(i) == TokenType::FOR)
        return true;
      else if (type(i) == TokenType::NEWLINE || type(i) == TokenType::COMMA ||
               type(i) == TokenType::CLOSE || type(i) == TokenType::OPEN)
        return false;
    return false;
  }

  bool foreignKey() {
    auto sign = behindKey();
    if (!sign)
      return false;
    const size_t value = *sign + 1 + isFatArrow(*sign);
    // An anchor of YAML and a comprehension of Python have their own reports.
    const std::string_view between =
        value < raw.size()
            ? sources.text({list.source, raw[*sign].end, raw[value].begin})
            : std::string_view();
    if (between.find('&') != between.npos || type(value) == TokenType::STAR ||
        isComprehension(value))
      return false;
    const size_t below = behindLines(value);
    const bool isOnNextLine = below > value;
    const int indent = indentOf(at);
    const bool isList = isOnNextLine && type(below) == TokenType::MINUS &&
                        indentOf(below) >= indent;
    const bool isBlock =
        isOnNextLine && type(*sign) == TokenType::COLON &&
        indentOf(below) > indent &&
        (isName(type(below)) || type(below) == TokenType::STRING) &&
        type(below + 1) == TokenType::COLON;
    // The parser explains an empty value.
    if (isOnNextLine && !isList && !isBlock)
      return false;
    const bool isMap = stack.back().body == Body::map;
    const bool isSection = !isMap &&
                           (isBlock || type(value) == TokenType::OPEN) &&
                           type(*sign) == TokenType::COLON;
    items.push_back({{list.source, raw[at].begin, raw[*sign - 1].end},
                     raw[at].begin,
                     isList || isBlock ? 0 : endOfItem(value),
                     messageOf(isSection, isFatArrow(*sign))});
    key();
    for (size_t i = at + 1; i < *sign; ++i)
      list.tokens.push_back(raw[i]);
    const Token& colon = raw[*sign];
    if (isFatArrow(*sign))
      edit(raw[*sign + 1].begin, raw[*sign + 1].end, "");
    const bool hasSpace = colon.begin > raw[*sign - 1].end;
    if (isSection && !isBlock)
      edit(colon.begin, colon.end,
           hasSpace || raw[value].begin > colon.end ? "" : " ");
    if (!isSection && colon.type == TokenType::COLON)
      edit(colon.begin, colon.end,
           std::string(hasSpace ? "=" : " =") + (isList    ? " ["
                                                 : isBlock ? " {"
                                                 : raw[value].begin == colon.end
                                                     ? " "
                                                     : ""));
    if (isSection && isBlock)
      edit(colon.begin, colon.end, hasSpace ? "{" : " {");
    if (!isSection)
      list.tokens.push_back(
          {TokenType::ASSIGN, colon.begin, colon.end, 0, false, false});
    if (isList || isBlock) {
      emit(isList ? TokenType::LBRACKET : TokenType::OPEN, colon.end,
           colon.end);
      stack.push_back({list.tokens.back().type,
                       isSection ? Body::fields : Body::map, TokenType::EOF,
                       indent, isList, false});
    }
    word(value);
    at = value - 1;
    // The braces behind the name of a section hold fields.
    if (isSection && !isBlock) {
      ++at;
      list.tokens.push_back(raw[at]);
      stack.push_back({TokenType::OPEN, Body::fields});
    }
    beginsItem = isBlock || isList || isSection;
    return true;
  }

  /// Translates words of YAML and JSON for our values, such as `null`.
  void word(size_t value) {
    static constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"null", "none"}, {"Null", "none"},   {"None", "none"},
        {"True", "true"}, {"False", "false"}, {"yes", "true"},
        {"no", "false"},  {"on", "true"},     {"off", "false"},
    };
    if (type(value) != TokenType::IDENTIFIER)
      return;
    for (const auto& [foreign, own] : words)
      if (textOf(value) == foreign)
        edit(raw[value].begin, raw[value].end, std::string(own));
  }

  uint32_t endOfItem(size_t value) const {
    int depth = 0;
    uint32_t end = raw[value].begin;
    for (size_t i = value; i < raw.size(); ++i) {
      const size_t kind = type(i);
      const bool isClosing = kind == TokenType::CLOSE ||
                             kind == TokenType::RPAREN ||
                             kind == TokenType::RBRACKET;
      depth += kind == TokenType::OPEN || kind == TokenType::LPAREN ||
               kind == TokenType::LBRACKET;
      depth -= isClosing;
      if (depth < 0 || kind == TokenType::EOF ||
          (depth == 0 &&
           (kind == TokenType::NEWLINE || kind == TokenType::COMMA)))
        break;
      end = raw[i].end;
    }
    return end;
  }

  std::string messageOf(bool isSection, bool hasArrow) const {
    if (hasArrow && type(at) != TokenType::STRING)
      return "a value is set with `=`, not with `=>`";
    if (type(at) != TokenType::STRING)
      return isSection ? "a section is written with braces, not with `:`"
                       : "a value is set with `=`, not with `:`";
    if (isNameText(inner()))
      return "the names of fields stand without quotation marks";
    return "a key that is not a name stands in square brackets";
  }

  std::string_view inner() const {
    std::string_view text = textOf(at);
    return text.size() < 2 ? text : text.substr(1, text.size() - 2);
  }

  static bool isNameText(std::string_view text) {
    auto isLetter = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    return !text.empty() &&
           !std::isdigit(static_cast<unsigned char>(text[0])) &&
           std::all_of(text.begin(), text.end(), isLetter);
  }

  /// Emits the key as a name or between square brackets.
  void key() {
    const Token& token = raw[at];
    if (token.type != TokenType::STRING) {
      list.tokens.push_back(token);
      return;
    }
    if (isNameText(inner()) && !token.isBroken) {
      list.tokens.push_back({TokenType::IDENTIFIER, token.begin + 1,
                             token.end - 1, 0, false, false});
      edit(token.begin, token.end, std::string(inner()));
      return;
    }
    emit(TokenType::LBRACKET, token.begin, token.begin);
    list.tokens.push_back(token);
    emit(TokenType::RBRACKET, token.end, token.end);
    edit(token.begin, token.end, "[" + std::string(textOf(at)) + "]");
  }

  // ---- the report

  /// The edits of this pass and those for powers, `2**9`, which are reported as
  /// errors of their own.
  std::vector<Edit> allEdits() const {
    std::vector<Edit> all = edits;
    for (Power& power : powersIn(sources, list.source, raw, 0, raw.size()))
      all.push_back({power.range, std::move(power.text)});
    std::stable_sort(all.begin(), all.end(), [](const Edit& a, const Edit& b) {
      return a.range.begin < b.range.begin;
    });
    return all;
  }

  /// The text of an item in our notation, on one line.
  std::string rewritten(const Item& item) const {
    std::string text;
    uint32_t from = item.begin;
    for (const Edit& each : allEdits()) {
      if (each.range.begin < item.begin || each.range.end > item.end)
        continue;
      text += sources.text({list.source, from, each.range.begin});
      text += each.text;
      from = each.range.end;
    }
    text += sources.text({list.source, from, item.end});
    return onOneLine(text);
  }

  static std::string onOneLine(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\n') {
        result += text[i];
        continue;
      }
      while (!result.empty() && std::isspace((unsigned char)result.back()))
        result.pop_back();
      while (i + 1 < text.size() && std::isspace((unsigned char)text[i + 1]))
        ++i;
      const bool needsComma = !result.empty() && i + 1 < text.size() &&
                              result.back() != '{' && result.back() != '[' &&
                              result.back() != ',' && text[i + 1] != '}' &&
                              text[i + 1] != ']';
      const bool isInList = (!result.empty() && result.back() == '[') ||
                            (i + 1 < text.size() && text[i + 1] == ']');
      result += needsComma ? ", " : isInList ? "" : " ";
    }
    return result;
  }

  void report() {
    Item first = items.front();
    // Items on one line are one text.
    auto lineOf = [&](uint32_t offset) {
      return sources.lineColumn(list.source, offset).line;
    };
    for (const Item& each : items)
      if (lineOf(each.begin) == lineOf(first.begin))
        first.end = std::max(first.end, each.end);
    auto report =
        engine.report(diag::Kind::InvalidItem, first.key, first.message);
    std::vector<std::string> lines;
    for (const Item& each : items) {
      std::string line =
          std::to_string(sources.lineColumn(list.source, each.begin).line);
      if (each.begin >= first.end && (lines.empty() || lines.back() != line))
        lines.push_back(std::move(line));
    }
    if (lines.size() == 1)
      report.note("the same in line " + lines[0]);
    else if (!lines.empty())
      report.note("the same in " + std::to_string(lines.size()) +
                  " lines below, from line " + lines[0] + " on");
    report.help("write `" + rewritten(first) + "`");
    for (const Edit& each : edits)
      report.fixIt(each.range, each.text, diag::Applicability::safe);
  }

  const SourceMap& sources;
  TokenList& list;
  diag::Engine& engine;
  std::vector<Token> raw;
  std::vector<Open> stack;
  std::vector<Item> items;
  std::vector<Edit> edits;
  size_t at = 0;
  bool beginsItem = true;
};

} // namespace

void rewriteForeignNotation(const SourceMap& sources, TokenList& list,
                            diag::Engine& engine) {
  Notation(sources, list, engine).run();
}

} // namespace recipec::parse
