// Messages for syntax errors.
//
//   1. The rule in which the parser stopped determines the kind and the
//      expected tokens. If many tokens could follow, those that would only
//      continue an expression are omitted.
//   2. The tokens around the error may show what the user meant; then help is
//      added.

#include "compiler/parse/ErrorStrategy.h"

#include <algorithm>

namespace recipec::parse {

namespace {

/// `a`, `b` or `c`
std::string join(const std::vector<std::string>& names) {
  std::string result;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      result += i + 1 == names.size() ? " or " : ", ";
    result += names[i];
  }
  return result;
}

class Wording {
public:
  Wording(const SourceMap& sources, const TokenList& list, SyntaxError error,
          diag::Engine& engine)
      : sources(sources), list(list), error(std::move(error)), engine(engine) {}

  void run() {
    diag::Kind kind = diag::Kind::ExpectedToken;
    std::string expected = describeExpected(kind);
    auto report = engine.report(
        kind, place(), "expected " + expected + ", found " + describeFound());
    if (!engine.isFull())
      error.diagnostic = &engine.edit(engine.all().size() - 1);
    addHelp(report);
    addOpening(report);
  }

private:
  size_t found() const { return list.tokens[error.token].type; }
  size_t previous() const {
    return error.token > 0 ? list.tokens[error.token - 1].type
                           : size_t(TokenType::EOF);
  }
  size_t next() const {
    bool isLast = error.token + 1 >= list.tokens.size();
    return isLast ? size_t(TokenType::EOF) : list.tokens[error.token + 1].type;
  }
  std::string textOf(size_t token) const {
    return std::string(sources.text(list.range(token)));
  }
  bool expects(size_t type) const {
    return std::count(error.expected.begin(), error.expected.end(), type) > 0;
  }
  bool isIn(size_t rule) const {
    return error.rule == rule || error.inside == rule;
  }

  /// Whether the error is at a brace that closes on a later line. The message
  /// then says that the line ended.
  bool isBehindLine() const {
    if (found() != TokenType::CLOSE || error.token == 0)
      return false;
    auto lineOf = [&](uint32_t offset) {
      return sources.lineColumn(list.source, offset).line;
    };
    return lineOf(list.tokens[error.token - 1].end) <
           lineOf(list.tokens[error.token].begin);
  }

  std::string describeFound() const {
    if (isBehindLine())
      return "the end of the line";
    return describeToken(sources, list, error.token);
  }

  /// The range of the unexpected token. At the end of a line or file it is the
  /// empty range after the last token.
  SourceRange place() const {
    bool isComma =
        found() == TokenType::SEPARATOR && textOf(error.token) == ",";
    bool isNothing = (found() == TokenType::SEPARATOR && !isComma) ||
                     found() == TokenType::EOF || isBehindLine();
    if (!isNothing || error.token == 0)
      return list.range(error.token);
    uint32_t end = list.tokens[error.token - 1].end;
    return {list.source, end, end};
  }

  // ---- expected tokens

  std::string describeExpected(diag::Kind& kind) const {
    switch (error.rule) {
    case Grammar::RuleName:
    case Grammar::RulePath:
      if (error.inside == Grammar::RuleTypeTerm)
        return describeTypeExpected(kind);
      kind = diag::Kind::ExpectedName;
      return error.inside == Grammar::RuleSuffix ? "a name behind the `.`"
                                                 : "a name";
    case Grammar::RuleType:
    case Grammar::RuleTypeTerm:
      if (!beginsHere())
        break;
      return describeTypeExpected(kind);
    case Grammar::RulePrimary:
    case Grammar::RuleOperand:
    case Grammar::RuleOperation:
    case Grammar::RuleExpression:
    case Grammar::RuleArgument:
      if (!beginsHere() && !expectsOnlyExpression())
        break;
      kind = diag::Kind::ExpectedExpression;
      return "a value";
    case Grammar::RuleItem:
      kind = diag::Kind::ExpectedItem;
      return "an item";
    case Grammar::RuleItems:
      if (!expects(TokenType::LET))
        return "`,` or the end of the line";
      kind = diag::Kind::ExpectedItem;
      return "an item or `}`";
    case Grammar::RuleDeclaration:
      kind = diag::Kind::ExpectedDeclaration;
      return "a declaration";
    case Grammar::RuleDeclarations:
      if (!expects(TokenType::LET))
        return "the end of the line";
      kind = diag::Kind::ExpectedDeclaration;
      return "a declaration";
    case Grammar::RuleImportDeclaration:
      if (!expects(TokenType::STRING))
        break;
      kind = diag::Kind::ExpectedName;
      return "a path such as `std.models.llama`";
    case Grammar::RuleClause:
      if (expects(TokenType::IN))
        return "`in`";
      return "`for` or `]`";
    case Grammar::RuleList:
      return hasClause() ? "`for` or `]`" : "`,` or `]`";
    case Grammar::RuleSelection:
    case Grammar::RuleSelected:
      return expects(TokenType::IDENTIFIER) ? "a name or `}`"
                                            : "`,` or the end of the line";
    case Grammar::RuleParameters:
      if (beginsHere())
        return "`(`";
      return previous() == TokenType::LPAREN ? "a parameter or `)`"
                                             : "`,` or `)`";
    case Grammar::RuleFunctionType:
      if (!expects(TokenType::RPAREN))
        break;
      return previous() == TokenType::LPAREN ? "a type or `)`" : "`,` or `)`";
    case Grammar::RuleSuffix:
      if (!expects(TokenType::RPAREN))
        break;
      return previous() == TokenType::LPAREN ? "an argument or `)`"
                                             : "`,` or `)`";
    case Grammar::RuleSetting:
      return "`=`, `{` or `:` behind `" + settingName() + "`";
    default:
      break;
    }
    return listExpected();
  }

  static std::string describeTypeExpected(diag::Kind& kind) {
    kind = diag::Kind::ExpectedType;
    return "a type";
  }

  bool beginsHere() const { return error.begin == error.token; }

  /// Whether only an expression can follow, for example after an operator.
  bool expectsOnlyExpression() const {
    return expects(TokenType::INTEGER) && expects(TokenType::LPAREN) &&
           !expects(TokenType::RPAREN);
  }

  std::string listExpected() const {
    bool prolongs = expects(TokenType::PLUS);
    std::vector<std::string> names;
    auto add = [&](std::string name) {
      if (std::count(names.begin(), names.end(), name) == 0)
        names.push_back(std::move(name));
    };
    bool hasExpression =
        expects(TokenType::INTEGER) && expects(TokenType::LBRACKET);
    if (hasExpression)
      add("a value");
    for (size_t type : error.expected) {
      bool isSkipped = (prolongs && (isBinaryOperator(type) || isSuffix(type) ||
                                     type == TokenType::IDENTIFIER)) ||
                       (hasExpression && beginsExpression(type)) ||
                       (isName(type) && expects(TokenType::IDENTIFIER) &&
                        type != TokenType::IDENTIFIER);
      if (!isSkipped)
        add(type == TokenType::EOF ? list.endName : describeType(type));
    }
    if (names.empty())
      return "something else";
    return join(names);
  }

  static bool isSuffix(size_t type) {
    return type == TokenType::DOT || type == TokenType::LPAREN ||
           type == TokenType::LBRACKET || type == TokenType::OPEN;
  }

  /// The dotted name before the error.
  std::string settingName() const {
    std::string name;
    for (size_t i = error.begin; i < error.token; ++i)
      name += textOf(i);
    return name;
  }

  // ---- help

  void addHelp(diag::Builder& report) const {
    if (helpWithForeignSyntax(sources, list, error, report))
      return;
    if (std::string help = reservedHelp(); !help.empty())
      report.help(help);
    else if (std::string other = ruleHelp(); !other.empty())
      report.help(other);
    else
      report.help(formHelp());
  }

  std::string reservedHelp() const {
    bool expectsName = expects(TokenType::IDENTIFIER) &&
                       (isIn(Grammar::RuleName) || isIn(Grammar::RulePath) ||
                        isIn(Grammar::RuleParameters));
    const bool isParameter =
        error.rule == Grammar::RuleParameters &&
        (previous() == TokenType::LPAREN || previous() == TokenType::COMMA);
    if (isReservedWord(found()) && (expectsName || isParameter))
      return reserved(textOf(error.token));
    const bool isKey =
        next() == TokenType::COLON || next() == TokenType::ASSIGN;
    const bool isItem =
        error.rule == Grammar::RuleItem || error.rule == Grammar::RuleItems;
    if (isItem && isReservedWord(found()) && isKey)
      return reserved(textOf(error.token));
    bool isAssigned =
        found() == TokenType::ASSIGN || found() == TokenType::COLON;
    if (isReservedWord(previous()) && isAssigned && !hasExpressionBefore())
      return reserved(textOf(error.token - 1));
    if (expectsName &&
        (found() == TokenType::INTEGER || found() == TokenType::FLOAT))
      return "names begin with a letter or `_`";
    return {};
  }

  /// `none = 3` fails after a complete expression; `for = 3` does not.
  bool hasExpressionBefore() const {
    return previous() == TokenType::NONE || previous() == TokenType::AUTO ||
           previous() == TokenType::TRUE || previous() == TokenType::FALSE;
  }

  static std::string reserved(const std::string& word) {
    return "`" + word + "` is a word of the language and cannot be a name; `" +
           word + "_` can";
  }

  std::string ruleHelp() const {
    if (isRemainder())
      return remainderHelp();
    if (std::string other = foreignHelp(); !other.empty())
      return other;
    switch (error.rule) {
    case Grammar::RuleSetting:
      return settingHelp();
    case Grammar::RuleItems:
    case Grammar::RuleItem:
      return itemHelp();
    case Grammar::RuleDeclarations:
    case Grammar::RuleDeclaration:
      return declarationHelp();
    case Grammar::RuleSuffix:
      return argumentHelp();
    case Grammar::RuleClause:
      return "a comprehension is written `[x for x in xs]`";
    case Grammar::RuleList:
      if (hasClause())
        return "a comprehension is written `[x for x in xs if x > 0]`";
      if (beginsExpression(found()))
        return "put a comma between the elements";
      return {};
    case Grammar::RuleSelection:
    case Grammar::RuleSelected:
      return "names of a file are chosen with `import path { a, b as c }`";
    case Grammar::RuleConditional:
      if (expects(TokenType::ELSE))
        return "a value needs `else`: write `if condition then a else b`; what "
               "is set only where the condition holds stands in `if condition "
               "{ ... }`";
      return "a conditional is written `if condition then a else b`";
    case Grammar::RuleParameters:
      if (beginsHere())
        return formOf(error.inside);
      if (isName(found()))
        return "put a comma between the parameters";
      return {};
    case Grammar::RuleBody:
    case Grammar::RuleHeadedBody:
      return formOf(error.inside);
    case Grammar::RuleLet:
    case Grammar::RuleEntry:
    case Grammar::RuleFixedField:
    case Grammar::RuleFunctionType:
    case Grammar::RuleMixinDeclaration:
    case Grammar::RuleMixins:
    case Grammar::RuleRecipeDeclaration:
    case Grammar::RuleFunction:
    case Grammar::RuleBlock:
    case Grammar::RuleForStatement:
    case Grammar::RuleIfStatement:
    case Grammar::RuleOverrideArgument:
      return formOf(error.rule);
    default:
      return expressionHelp();
    }
  }

  std::string settingHelp() const {
    std::string name = settingName();
    if (name == "assert" || name == "assume" || name == "check")
      return "a condition is written `require condition : \"message\"`";
    bool isDeclaration = name == "recipe" || name == "schema" ||
                         name == "model" || name == "import" || name == "op";
    if (isDeclaration && isName(found()))
      return "`" + name + "` is declared outside of all braces";
    if (found() == TokenType::LPAREN)
      return "a call is a value: write `name = " + name +
             "(...)`, or `return " + name + "(...)` at the end of a function";
    bool isValue = beginsExpression(found()) && found() != TokenType::OPEN &&
                   !isName(found());
    if (isValue || found() == TokenType::SEPARATOR ||
        found() == TokenType::CLOSE)
      return "write `" + name + " = " +
             (isValue ? textOf(error.token) : "value") + "`";
    if (isName(found()))
      return "write `" + name + " = " + textOf(error.token) +
             "`, or put a comma or a line break between two items";
    return {};
  }

  /// Whether the list around the error has a `for`, which makes it a
  /// comprehension.
  bool hasClause() const {
    int depth = list.tokens[error.begin].depth + 1;
    for (size_t i = error.begin; i < error.token; ++i)
      if (list.tokens[i].type == TokenType::FOR &&
          list.tokens[i].depth == depth)
        return true;
    return false;
  }

  /// `10%3`: the lexer read `10%` as a number.
  bool isRemainder() const {
    return previous() == TokenType::PERCENTAGE && beginsExpression(found());
  }
  std::string remainderHelp() const {
    std::string number = textOf(error.token - 1);
    number.pop_back();
    return "`" + textOf(error.token - 1) +
           "` is a number; the remainder is "
           "written `" +
           number + " % " + textOf(error.token) + "`";
  }

  /// Forms of Python and TOML: a conditional or a unit after a value, a list in
  /// parentheses.
  std::string foreignHelp() const {
    if (error.token == 0)
      return {};
    bool isBehindValue = !beginsHere() && endsValue(previous());
    bool isInList =
        error.rule == Grammar::RuleClause || error.rule == Grammar::RuleList;
    if (found() == TokenType::IF && isBehindValue && !isInList)
      return "a conditional is written `if condition then a else b`";
    if (isBehindValue && isUnitName(textOf(error.token)) &&
        error.rule != Grammar::RuleSetting)
      return "a unit stands behind a number: write `" + pathBefore() + " * 1 " +
             textOf(error.token) + "`";
    if (found() == TokenType::COMMA && error.rule == Grammar::RulePrimary &&
        expects(TokenType::RPAREN))
      return "a list is written `[a, b]`";
    return {};
  }

  /// The dotted path that ends before the error: `batch.global`.
  std::string pathBefore() const {
    size_t first = error.token - 1;
    while (first >= 2 && list.tokens[first - 1].type == TokenType::DOT)
      first -= 2;
    return std::string(
        sources.text(cover(list.range(first), list.range(error.token - 1))));
  }

  static bool endsValue(size_t type) {
    return isName(type) || type == TokenType::INTEGER ||
           type == TokenType::FLOAT || type == TokenType::STRING ||
           type == TokenType::RPAREN || type == TokenType::RBRACKET;
  }

  std::string itemHelp() const {
    if (found() == TokenType::ASSIGN)
      return "`==` compares; one item sets one value";
    if (found() == TokenType::COMMA)
      return "one comma is enough";
    if (found() == TokenType::ELSE)
      return "`else` follows the `}` of an `if` statement";
    if (textOf(error.token).starts_with("\"\"\""))
      return "a comment begins with `#`";
    bool mayBeginItem =
        isName(found()) || isReservedWord(found()) || beginsExpression(found());
    if (error.rule == Grammar::RuleItems && mayBeginItem &&
        !expects(TokenType::LET))
      return "put a comma or a line break between two items";
    if (error.token > 0 && textOf(error.token - 1) == "," &&
        beginsExpression(found()))
      return "an item is `name = value`; values of a list stand in brackets: "
             "`name = [a, b]`";
    return {};
  }

  std::string declarationHelp() const {
    if (isInImport())
      return formOf(Grammar::RuleImportDeclaration);
    if (error.token > 0 && !expects(TokenType::LET))
      return "put a line break between two declarations";
    std::string text = textOf(error.token);
    auto meant =
        diag::didYouMean(text, {"import", "recipe", "abstract", "mixin",
                                "schema", "model", "let", "fun", "block"});
    bool isDeclaration = isName(next()) || next() == TokenType::STRING;
    if (meant && isDeclaration)
      return "did you mean `" + *meant + "`?";
    bool isItem = isName(found()) || isReservedWord(found());
    if (isItem && beginsIndentedLine(sources, list, error.token))
      return "a `}` above closes the block around this too early";
    if (isName(found()))
      return "settings belong into the braces of `recipe NAME { ... }`";
    return {};
  }

  /// Whether the declaration of the error begins with `import`.
  bool isInImport() const {
    size_t first = std::min(error.token, list.tokens.size() - 1);
    while (first > 0 && list.tokens[first - 1].type != TokenType::SEPARATOR)
      --first;
    return list.tokens[first].type == TokenType::IMPORT && first < error.token;
  }

  std::string argumentHelp() const {
    if (found() == TokenType::COLON)
      return "name an argument with `=`, not with `:`";
    if (beginsExpression(found()))
      return "put a comma between the arguments";
    return {};
  }

  /// The form of the construct, as a help if nothing better is known.
  std::string formHelp() const {
    for (size_t rule : {error.rule, error.inside})
      if (std::string form = formOf(rule); !form.empty())
        return form;
    return "an item is written `name = value` or `name { ... }`";
  }

  std::string expressionHelp() const {
    if (found() == TokenType::REQUIRE && next() == TokenType::LPAREN)
      return "files are imported at the top of a file: `import "
             "\"FILE.recipe\" { name }`";
    if (found() == TokenType::DOT && next() == TokenType::INTEGER)
      return "write a number with a digit before its point: `0." +
             textOf(error.token + 1) + "`";
    if (found() == TokenType::RANGE)
      return "a range has both ends: `0..n`";
    if (error.token > 0 && textOf(error.token) == textOf(error.token - 1) &&
        (found() == TokenType::PLUS || found() == TokenType::MINUS))
      return "values do not change, and there is no `" + textOf(error.token) +
             textOf(error.token) + "`: write the value that is meant";
    if (textOf(error.token) == "{" && error.token > 0 &&
        textOf(error.token - 1) == ",")
      return "remove the comma before `{`";
    if (std::string path = unquotedPath(); !path.empty())
      return "a path is a string: write `\"" + path + "\"`";
    if (error.token > 0 && isBinaryOperator(previous()) &&
        !beginsExpression(found()))
      return "write a value behind `" + textOf(error.token - 1) +
             "`, or remove it";
    return {};
  }

  /// For a path without quotation marks, such as `a/*.bin`: the text around the
  /// unexpected token up to the next spaces, if the token follows a `/`. Else
  /// empty.
  std::string unquotedPath() const {
    if (error.token == 0 || textOf(error.token - 1) != "/")
      return {};
    auto touches = [&](size_t left) {
      return list.range(left).end == list.range(left + 1).begin;
    };
    size_t begin = error.token, end = error.token;
    while (begin > 0 && touches(begin - 1) && isPathToken(begin - 1))
      --begin;
    while (end + 1 < list.tokens.size() && touches(end) && isPathToken(end + 1))
      ++end;
    if (begin == error.token || !isPathToken(end))
      return {};
    return std::string(sources.text(cover(list.range(begin), list.range(end))));
  }
  bool isPathToken(size_t token) const {
    const size_t type = list.tokens[token].type;
    return isName(type) || type == TokenType::INTEGER ||
           type == TokenType::FLOAT || type == TokenType::DOT ||
           type == TokenType::STAR || type == TokenType::SLASH ||
           type == TokenType::MINUS || type == TokenType::RANGE;
  }

  /// Adds a note where the enclosing bracket opens if it is on another line.
  void addOpening(diag::Builder& report) const {
    bool isBracketed = error.rule == Grammar::RuleSuffix ||
                       error.rule == Grammar::RuleList ||
                       error.rule == Grammar::RuleParameters;
    if (!isBracketed || error.token == error.begin)
      return;
    SourceRange opening = list.range(error.begin);
    int line = sources.lineColumn(list.source, opening.begin).line;
    if (line != sources.lineColumn(list.source, place().begin).line)
      report.note("the bracket opens here", opening);
  }

  const SourceMap& sources;
  const TokenList& list;
  SyntaxError error;
  diag::Engine& engine;
};

} // namespace

/// `a = 1 b = 2`: the parser read `b` as the unit of 1 and stopped after it.
static bool isBehindSeemingUnit(const TokenList& list,
                                const SyntaxError& error) {
  if (error.rule != Grammar::RuleItems || error.token < 2)
    return false;
  size_t number = list.tokens[error.token - 2].type;
  return list.tokens[error.token].type == TokenType::ASSIGN &&
         list.tokens[error.token - 1].type == TokenType::IDENTIFIER &&
         (number == TokenType::INTEGER || number == TokenType::FLOAT);
}

void reportSyntaxError(const SourceMap& sources, const TokenList& list,
                       SyntaxError error, diag::Engine& engine) {
  if (isBehindSeemingUnit(list, error))
    --error.token;
  Wording(sources, list, std::move(error), engine).run();
}

} // namespace recipec::parse
