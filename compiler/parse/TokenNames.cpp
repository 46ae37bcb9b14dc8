// Names of tokens in messages, and groups of tokens.

#include "compiler/parse/Tokens.h"

#include <algorithm>

namespace recipec::parse {

static std::string quote(std::string_view text) {
  return "`" + std::string(text) + "`";
}

static const antlr4::dfa::Vocabulary& vocabulary() {
  static const generated::RecipeParser parser(nullptr);
  return parser.getVocabulary();
}

/// The text of a token type with only one spelling: `=`, `recipe`.
static std::string fixedText(size_t type) {
  // The vocabulary encloses it in apostrophes.
  std::string literal = vocabulary().getLiteralName(type);
  return literal.size() < 3 ? literal : literal.substr(1, literal.size() - 2);
}

std::string typeName(size_t type) {
  return vocabulary().getSymbolicName(type);
}

std::string describeType(size_t type) {
  switch (type) {
  case TokenType::IDENTIFIER:
    return "a name";
  case TokenType::STRING:
  case TokenType::TEXT:
    return "a string";
  case TokenType::INTEGER:
  case TokenType::FLOAT:
  case TokenType::PERCENTAGE:
    return "a number";
  case TokenType::SEPARATOR:
  case TokenType::EOF:
    return "the end of the line";
  case TokenType::BLOCK_OPEN:
    return "`{`";
  default:
    return quote(fixedText(type));
  }
}

std::string describeToken(const SourceMap& sources, const TokenList& list,
                          size_t token) {
  const Token& found = list.tokens[token];
  if (found.type == TokenType::EOF)
    return list.endName;
  std::string_view text = sources.text(list.range(token));
  if (found.type == TokenType::SEPARATOR)
    return text == "," ? "`,`" : "the end of the line";
  if (found.type == TokenType::TEXT)
    return "a string";
  if (found.type == TokenType::STRING)
    return text.size() <= 32 ? "the string `" + std::string(text) + "`"
                             : "a string";
  if (isReservedWord(found.type))
    return "the word " + quote(text);
  return quote(text);
}

bool beginsIndentedLine(const SourceMap& sources, const TokenList& list,
                        size_t token) {
  auto placeOf = [&](size_t index) {
    return sources.lineColumn(list.source, list.tokens[index].begin);
  };
  LineColumn place = placeOf(token);
  // The separator for a line break belongs to the preceding line.
  const bool isFirst = token == 0 || placeOf(token - 1).line < place.line;
  return isFirst && place.column > 1;
}

bool isReservedWord(size_t type) {
  switch (type) {
  case TokenType::AND:
  case TokenType::AUTO:
  case TokenType::BLOCK:
  case TokenType::ELSE:
  case TokenType::FALSE:
  case TokenType::FIXED:
  case TokenType::FOR:
  case TokenType::FUN:
  case TokenType::IF:
  case TokenType::IN:
  case TokenType::IS:
  case TokenType::LET:
  case TokenType::NONE:
  case TokenType::NOT:
  case TokenType::OR:
  case TokenType::REQUIRE:
  case TokenType::RETURN:
  case TokenType::THEN:
  case TokenType::TRUE:
    return true;
  default:
    return false;
  }
}

bool isName(size_t type) {
  switch (type) {
  case TokenType::IDENTIFIER:
  case TokenType::ABSTRACT:
  case TokenType::AMENDS:
  case TokenType::AS:
  case TokenType::IMPORT:
  case TokenType::MIXIN:
  case TokenType::MODEL:
  case TokenType::OP:
  case TokenType::RECIPE:
  case TokenType::SCHEMA:
  case TokenType::WITH:
    return true;
  default:
    return false;
  }
}

bool beginsExpression(size_t type) {
  switch (type) {
  case TokenType::INTEGER:
  case TokenType::FLOAT:
  case TokenType::PERCENTAGE:
  case TokenType::STRING:
  case TokenType::TEXT:
  case TokenType::NONE:
  case TokenType::AUTO:
  case TokenType::TRUE:
  case TokenType::FALSE:
  case TokenType::NOT:
  case TokenType::MINUS:
  case TokenType::IF:
  case TokenType::LPAREN:
  case TokenType::LBRACKET:
  case TokenType::OPEN:
    return true;
  default:
    return isName(type);
  }
}

bool isBinaryOperator(size_t type) {
  switch (type) {
  case TokenType::PLUS:
  case TokenType::MINUS:
  case TokenType::STAR:
  case TokenType::SLASH:
  case TokenType::PERCENT:
  case TokenType::EQUAL:
  case TokenType::NOT_EQUAL:
  case TokenType::LESS:
  case TokenType::LESS_EQUAL:
  case TokenType::GREATER:
  case TokenType::GREATER_EQUAL:
  case TokenType::AND:
  case TokenType::OR:
  case TokenType::RANGE:
  case TokenType::ARROW:
  case TokenType::IN:
  case TokenType::IS:
    return true;
  default:
    return false;
  }
}

bool TokenList::isDoubtful(uint32_t offset) const {
  auto next = std::upper_bound(
      doubtful.begin(), doubtful.end(), offset,
      [](uint32_t at, SourceRange range) { return at < range.begin; });
  return next != doubtful.begin() && offset <= std::prev(next)->end;
}

void TokenList::arrangeDoubtful() {
  std::sort(doubtful.begin(), doubtful.end(),
            [](SourceRange a, SourceRange b) { return a.begin < b.begin; });
  std::vector<SourceRange> joined;
  for (SourceRange range : doubtful) {
    if (!joined.empty() && range.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  }
  doubtful = std::move(joined);
}

const std::vector<std::string>& unitNames() {
  static const std::vector<std::string> names = {
      "B",    "KB",    "MB",    "GB",     "TB",    "KiB",   "MiB",
      "GiB",  "TiB",   "ms",    "s",      "min",   "h",     "d",
      "step", "steps", "epoch", "epochs", "token", "tokens"};
  return names;
}

bool isUnitName(std::string_view text) {
  const auto& names = unitNames();
  return std::find(names.begin(), names.end(), text) != names.end();
}

bool isChoiceWord(std::string_view word) {
  return word == "match" || word == "switch" || word == "when" ||
         word == "case" || word == "select";
}

/// Whether the line sets a value that begins with `match size {`.
static bool beginsChoice(std::string_view line) {
  for (std::string_view before : {"= ", "return "}) {
    const size_t at = line.find(before);
    if (at == line.npos)
      continue;
    const std::string_view value = line.substr(at + before.size());
    if (isChoiceWord(value.substr(0, value.find_first_of(" ("))))
      return true;
  }
  return false;
}

bool isBelowBrokenHead(const SourceMap& sources, SourceId source,
                       uint32_t offset, const diag::Engine& engine) {
  auto indentOf = [](std::string_view line) {
    return std::min(line.find_first_not_of(" \t\r"), line.size());
  };
  int line = sources.lineColumn(source, offset).line;
  const size_t indent = indentOf(sources.lineText(source, line));
  std::string_view head;
  do {
    head = --line > 0 ? sources.lineText(source, line) : "";
  } while (line > 0 &&
           (indentOf(head) == head.size() || indentOf(head) >= indent));
  const size_t last = head.find_last_not_of(" \t\r");
  if (line == 0 || last == head.npos)
    return false;
  const bool isChoice = head[last] == '{' && beginsChoice(head);
  if (!isChoice && head[last] != ':')
    return false;
  // For a choice, the error is inside one of its cases.
  const int end = isChoice ? sources.lineColumn(source, offset).line : line + 1;
  return std::any_of(engine.all().begin(), engine.all().end(),
                     [&](const diag::Diagnostic& each) {
                       if (each.range.source != source)
                         return false;
                       const int at =
                           sources.lineColumn(source, each.range.begin).line;
                       return at >= line && at < end;
                     });
}

} // namespace recipec::parse
