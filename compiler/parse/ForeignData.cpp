// Help for YAML, JSON and TOML in place of items and declarations.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>

namespace recipec::parse {
namespace {

class ForeignData : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return mapComprehension() || typedValue() || quotedName() || table() ||
           dashedList() || listInBraces() || numberAsKey() || continuation() ||
           dataFile();
  }

private:
  /// `{k: v for k in ks}`; the parser stopped at `for` or before it.
  bool mapComprehension() const {
    if (!isAtItem() && error.rule != Grammar::RuleSetting)
      return false;
    const bool isFor = found() == TokenType::FOR;
    const bool isKey = found() == TokenType::STRING;
    if ((!isFor && !isKey) || (isFor && previous(2) != TokenType::COLON) ||
        (isKey && next() != TokenType::COLON))
      return false;
    size_t at = error.token;
    while (!isEndOfItem(at) && type(at) != TokenType::FOR)
      ++at;
    if (type(at) != TokenType::FOR)
      return false;
    const std::string key =
        isFor ? textOf(error.token - 3) : textOf(error.token);
    size_t value = isFor ? error.token - 1 : error.token + 2;
    reword("a map is built by a `for` before its braces");
    size_t last = at;
    while (last + 1 < list.tokens.size() &&
           list.tokens[last + 1].depth >= list.tokens[at].depth)
      ++last;
    return help("write `{ " + textOf(at, last) + " { [" + key +
                "] = " + textOf(value, at - 1) + " } }`");
  }

  /// `compute: true`, `warmup: 3%`
  bool typedValue() const {
    bool isType = error.rule == Grammar::RuleType ||
                  error.rule == Grammar::RuleTypeTerm ||
                  error.inside == Grammar::RuleType ||
                  error.inside == Grammar::RuleTypeTerm;
    bool isValue =
        isType && previous() == TokenType::COLON && beginsExpression(found());
    return isValue && fix("`:` gives a type; set a value with `=`",
                          list.range(error.token - 1),
                          isBehindSpace(error.token - 1) ? "=" : " =");
  }
  bool isBehindSpace(size_t token) const {
    return token > 0 && !areAdjacent(token - 1);
  }

  /// `"tp" = 4`, `"tp": 4`
  bool quotedName() const {
    const bool isSection = next() == TokenType::OPEN;
    bool isKey = found() == TokenType::STRING &&
                 (next() == TokenType::ASSIGN || next() == TokenType::COLON ||
                  isSection);
    if (!isKey || isOfFile())
      return false;
    std::string name = textOf(error.token);
    name = name.substr(1, name.size() - 2);
    if (isSection)
      return fix("names stand without quotation marks: write `" + name +
                     " { ... }`",
                 list.range(error.token), name);
    return help("names stand without quotation marks: write `" + name +
                " = ...`; a key of a map is written `[\"" + name +
                "\"] = ...`");
  }

  /// `[optimizer]` between braces, where an entry of a map may appear.
  bool table() const {
    if (error.rule != Grammar::RuleEntry || previous() != TokenType::RBRACKET)
      return false;
    // `[[callbacks]]` is an element of a list of tables.
    const bool isDouble = previous(2) == TokenType::RBRACKET;
    const size_t last = error.token - 2 - isDouble;
    if (!isName(type(last)))
      return false;
    size_t first = last;
    while (first > 0 && type(first) != TokenType::LBRACKET)
      --first;
    const std::string name = textOf(first + 1, last);
    const size_t begin = first - (isDouble && first > 0);
    reword("a section is written with braces, not with a header as in TOML",
           rangeOf(begin, error.token - 1));
    const size_t end = endOfTable();
    const std::string lines = textOf(error.token + 1, end);
    if (lines.empty() || lines.find('#') != lines.npos)
      return help("write `" + name +
                  " { ... }` with its lines in the braces; an entry of a map "
                  "is `[\"key\"] = value`");
    const std::string own = name + " { " + onOneLine(lines) + " }";
    return fix("write `" + own + "`", rangeOf(begin, end), own);
  }
  /// The last token of the `name = value` lines below a table's header; the
  /// token of the error if there are none.
  size_t endOfTable() const {
    size_t end = error.token;
    for (size_t at = error.token + 1;
         isName(type(at)) &&
         (type(at + 1) == TokenType::ASSIGN || type(at + 1) == TokenType::DOT);
         at = end + 2) {
      end = lastOfItem(at);
      if (type(end + 1) != TokenType::SEPARATOR)
        break;
    }
    return end;
  }
  static std::string onOneLine(const std::string& lines) {
    std::string text;
    for (char letter : lines)
      if (letter == '\n')
        text += text.ends_with(',') ? " " : ", ";
      else if (letter != ' ' || !text.ends_with(' '))
        text += letter;
    return text;
  }

  /// A YAML list. Its first `-` looks like the sign of a value, so the parser
  /// stops at the second.
  bool dashedList() const {
    const bool isElement =
        next() == TokenType::STRING || isName(next()) || isNumber(next());
    if (!isAtItem() || found() != TokenType::MINUS || !isElement)
      return false;
    // The first dash is after `=`, or at the beginning of an erring item.
    size_t first = error.token;
    while (first > 0 && type(first - 1) != TokenType::OPEN &&
           type(first - 1) != TokenType::ASSIGN)
      --first;
    if (type(first) != TokenType::MINUS)
      first = error.token;
    std::string elements;
    size_t dash = first, last = first;
    while (type(dash) == TokenType::MINUS) {
      last = lastOfItem(dash);
      elements += (elements.empty() ? "" : ", ") + textOf(dash + 1, last);
      dash = type(last + 1) == TokenType::SEPARATOR ? last + 2 : last + 1;
    }
    reword("a list is written in brackets, and not with dashes as in YAML",
           list.range(first));
    const std::string own = "[" + elements + "]";
    if (first == error.token || own.find('\n') != own.npos)
      return help("write `[" + textOf(first + 1) + ", ...]`");
    return fix("write `" + own + "`",
               {list.source, list.tokens[first - 1].end, list.tokens[last].end},
               " " + own);
  }

  /// `{1, 2}` for `[1, 2]`
  bool listInBraces() const {
    const size_t brace = error.token - 1;
    const bool isValue = isNumber(found()) || found() == TokenType::STRING;
    if (!isAtItem() || error.token == 0 || type(brace) != TokenType::OPEN ||
        !isValue || !isEndOfItem(error.token + 1) || isName(type(brace - 1)))
      return false;
    const int depth = list.tokens[brace].depth;
    size_t close = error.token;
    while (close + 1 < list.tokens.size() && list.tokens[close].depth > depth)
      ++close;
    const std::string own =
        "[" + textOf(error.token, close - (close > error.token)) + "]";
    reword("a list stands in square brackets", rangeOf(brace, close));
    return own.find('\n') == own.npos
               ? fix("write `" + own + "`", rangeOf(brace, close), own)
               : help("write `[a, b]`");
  }

  /// `{ 1 = "a" }`
  bool numberAsKey() const {
    if (!isAtItem() || !isNumber(found()) || next() != TokenType::ASSIGN)
      return false;
    const std::string own = "[\"" + textOf(error.token) + "\"]";
    reword("a key that is not a name stands in square brackets, as a string");
    return fix("write `" + own + " = " + textOf(error.token + 2) + "`",
               list.range(error.token), own);
  }

  /// A line that begins with an operator.
  bool continuation() const {
    bool isOperator =
        found() == TokenType::PLUS || found() == TokenType::MINUS ||
        found() == TokenType::STAR || found() == TokenType::SLASH ||
        found() == TokenType::AND || found() == TokenType::OR;
    return isAtItem() && isOperator &&
           help("a value ends with its line: put the `" + textOf(error.token) +
                "` at the end of the line before, or the value in parentheses");
  }

  /// YAML, JSON or TOML in place of a declaration.
  bool dataFile() const {
    if (isInterpolation())
      return false;
    // `model` begins a declaration, so the error is at the missing name.
    bool isBehindWord =
        error.token == 1 && isName(previous()) && found() == TokenType::COLON;
    if (!isBehindWord && (!isOfFile() || error.token > 0))
      return false;
    const std::string recipe =
        "a recipe is written `recipe NAME { name = value }`; ";
    const std::string import = " file is imported as data";
    bool isYaml = isBehindWord ||
                  (isName(found()) && next() == TokenType::COLON) ||
                  (found() == TokenType::MINUS && next() == TokenType::MINUS) ||
                  found() == TokenType::PERCENT;
    if (isYaml)
      return help(recipe + "a YAML" + import +
                  ", `import \"run.yaml\" as run`");
    if (found() == TokenType::OPEN || found() == TokenType::STRING)
      return help(recipe + "a JSON" + import +
                  ", `import \"run.json\" as run`");
    bool isTable = found() == TokenType::LBRACKET && isName(next());
    return isTable && help(recipe + "a section of it `section { name = value "
                                    "}`, and not as in TOML");
  }
};

} // namespace

bool helpWithForeignData(const SourceMap& sources, const TokenList& list,
                         const SyntaxError& error, diag::Builder& report) {
  return ForeignData(sources, list, error, report).run();
}

} // namespace recipec::parse
