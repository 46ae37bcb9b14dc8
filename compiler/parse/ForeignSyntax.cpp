// Help for syntax of Python, YAML, JSON, TOML and C.
//
// Each function looks for one form at the unexpected token; the first match
// reports. The edit is safe where the meaning is certain.

#include "compiler/parse/ErrorStrategy.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace recipec::parse {
namespace {

using diag::Applicability;

/// A keyword that begins a declaration in other languages, and ours.
struct Word {
  std::string_view foreign, own;
};

constexpr Word words[] = {
    {"class", "schema"},     {"struct", "schema"}, {"type", "schema"},
    {"interface", "schema"}, {"def", "fun"},       {"func", "fun"},
    {"function", "fun"},     {"fn", "fun"},        {"const", "let"},
    {"var", "let"},          {"val", "let"},       {"local", "let"},
    {"include", "import"},   {"use", "import"},    {"using", "import"},
    {"job", "recipe"},       {"config", "recipe"}, {"experiment", "recipe"},
    {"run", "recipe"},       {"trait", "mixin"},   {"module", "model"},
};

class ForeignSyntax {
public:
  ForeignSyntax(const SourceMap& sources, const TokenList& list,
                const SyntaxError& error, diag::Builder& report)
      : sources(sources), list(list), error(error), report(report) {}

  bool run() {
    return wholeDivision() || comment() || forgottenReturn() || equality() ||
           doubleSign() || typedValue() || assignment() || percent() ||
           power() || orSign() || prefix() || quotedName() || elseIf() ||
           fromImport() || amendedModel() || unpacking() || extends() ||
           quotedDeclaration() || hyphens() || slashes() || table() ||
           thousands() || fatArrow() || method() || dashedList() ||
           continuation() || dataFile() || valueOfFile() || settingOfFile() ||
           word();
  }

private:
  // ---- tokens

  size_t type(size_t token) const {
    return token < list.tokens.size() ? list.tokens[token].type
                                      : size_t(TokenType::EOF);
  }
  size_t found() const { return type(error.token); }
  size_t next(size_t by = 1) const { return type(error.token + by); }
  size_t previous(size_t by = 1) const {
    return error.token >= by ? type(error.token - by) : size_t(TokenType::EOF);
  }
  std::string textOf(size_t token) const {
    return std::string(sources.text(list.range(token)));
  }
  SourceRange rangeOf(size_t first, size_t last) const {
    return {list.source, list.tokens[first].begin, list.tokens[last].end};
  }
  bool areAdjacent(size_t first) const {
    return first + 1 < list.tokens.size() &&
           list.tokens[first].end == list.tokens[first + 1].begin;
  }
  bool isOfFile() const {
    return error.rule == Grammar::RuleDeclaration ||
           error.rule == Grammar::RuleDeclarations;
  }
  static bool isNumber(size_t type) {
    return type == TokenType::INTEGER || type == TokenType::FLOAT;
  }

  bool help(std::string text) {
    report.help(std::move(text));
    return true;
  }
  bool fix(std::string text, SourceRange range, std::string replacement,
           Applicability applicability = Applicability::safe) {
    report.help(std::move(text))
        .fixIt(range, std::move(replacement), applicability);
    return true;
  }

  // ---- forms

  /// `a // b`: one operand behind a value, and not the words of a comment.
  bool wholeDivision() {
    const size_t first = error.token - 1;
    const bool isOperand = isName(next()) || next() == TokenType::INTEGER;
    return previous() == TokenType::SLASH && found() == TokenType::SLASH &&
           areAdjacent(first) && isOperand && isEndOfItem(error.token + 2) &&
           fix("division is `/`, of whole numbers too; a comment begins with "
               "`#`",
               rangeOf(first, error.token), "/", Applicability::maybe);
  }

  /// `x + y` alone as the last item of a block.
  bool forgottenReturn() {
    if (error.rule != Grammar::RuleSetting || !isBinaryOperator(found()) ||
        !isInFunction() || next() == TokenType::ASSIGN)
      return false;
    size_t last = error.token;
    while (!isEndOfItem(last + 1))
      ++last;
    const uint32_t begin = list.tokens[error.begin].begin;
    return fix("a block ends in `return`: write `return " +
                   std::string(sources.text(rangeOf(error.begin, last))) + "`",
               {list.source, begin, begin}, "return ");
  }

  /// `// text`, `/* text */`
  bool comment() {
    if (found() == TokenType::SLASH && next() == TokenType::STAR)
      return help("comments begin with `#`");
    // After a value the parser reads the first one as a division.
    size_t first = error.token - (previous() == TokenType::SLASH);
    return found() == TokenType::SLASH && type(first + 1) == TokenType::SLASH &&
           areAdjacent(first) &&
           fix("comments begin with `#`", rangeOf(first, first + 1), "#");
  }

  /// `tp == 4`
  bool equality() {
    return error.rule == Grammar::RuleSetting && found() == TokenType::EQUAL &&
           fix("`==` compares; set a value with `=`", list.range(error.token),
               "=");
  }

  /// `tp := 4`
  bool doubleSign() {
    return found() == TokenType::ASSIGN && previous() == TokenType::COLON &&
           fix("set a value with `=` alone",
               rangeOf(error.token - 1, error.token), "=");
  }

  /// `compute: true`, `warmup: 3%`
  bool typedValue() {
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

  /// `steps += 4`; in a block, where names may be bound again, `x += y`.
  bool assignment() {
    if (error.rule != Grammar::RuleSetting || next() != TokenType::ASSIGN)
      return false;
    bool isArithmetic =
        found() == TokenType::PLUS || found() == TokenType::MINUS ||
        found() == TokenType::STAR || found() == TokenType::SLASH;
    if (!isArithmetic || !areAdjacent(error.token))
      return false;
    if (!isInFunction())
      return help("a value is set once, as a whole, with `=`; a recipe that "
                  "`amends` another may set it anew");
    std::string name(sources.text(rangeOf(error.begin, error.token - 1)));
    std::string sign = textOf(error.token);
    size_t first = error.token + 2, last = first;
    while (!isEndOfItem(last + 1))
      ++last;
    if (isEndOfItem(first))
      return help("write `" + name + " = " + name + " " + sign + " ...`");
    std::string value(sources.text(rangeOf(first, last)));
    // Operators of lower precedence need parentheses.
    if (std::any_of(list.tokens.begin() + ptrdiff_t(first),
                    list.tokens.begin() + ptrdiff_t(last) + 1,
                    [&](const auto& token) {
                      return token.depth == list.tokens[first].depth &&
                             isBinaryOperator(token.type);
                    }))
      value = "(" + value + ")";
    std::string text = name + " = " + name + " " + sign + " " + value;
    return fix("write `" + text + "`", rangeOf(error.begin, last), text);
  }

  bool isEndOfItem(size_t token) const {
    return type(token) == TokenType::SEPARATOR ||
           type(token) == TokenType::CLOSE || type(token) == TokenType::EOF;
  }

  /// Whether the innermost braces around the error, except those of `for` and
  /// `if`, belong to a block or a function.
  bool isInFunction() const {
    int depth = 0;
    for (size_t i = error.begin; i > 0; --i) {
      size_t brace = type(i - 1);
      if (brace == TokenType::CLOSE)
        ++depth;
      if (brace != TokenType::OPEN && brace != TokenType::BLOCK_OPEN)
        continue;
      if (depth-- > 0)
        continue;
      depth = 0;
      size_t head = i - 1;
      while (head > 0 && type(head - 1) != TokenType::SEPARATOR &&
             type(head - 1) != TokenType::OPEN &&
             type(head - 1) != TokenType::BLOCK_OPEN &&
             type(head - 1) != TokenType::CLOSE)
        --head;
      if (type(head) == TokenType::BLOCK || type(head) == TokenType::FUN)
        return true;
      if (type(head) != TokenType::FOR && type(head) != TokenType::IF &&
          type(head) != TokenType::ELSE)
        return false;
    }
    return false;
  }

  /// `folder = "data"` at file level is certainly a `let` if the file reads the
  /// name.
  bool valueOfFile() {
    if (!isOfFile() || !isName(found()) || next() != TokenType::ASSIGN ||
        isEndOfItem(error.token + 2) ||
        beginsIndentedLine(sources, list, error.token))
      return false;
    size_t last = error.token + 2;
    while (!isEndOfItem(last + 1))
      ++last;
    std::string text(sources.text(rangeOf(error.token, last)));
    if (text.find('\n') != text.npos)
      text = textOf(error.token) + " = ...";
    SourceRange start = list.range(error.token);
    start.end = start.begin;
    return fix("a file names a value with `let`: write `let " + text +
                   "`; settings belong into the braces of `recipe NAME { ... "
                   "}`",
               start, "let ",
               isRead(textOf(error.token)) ? Applicability::safe
                                           : Applicability::maybe);
  }

  /// `model = llama.llama3_8b` at file level, where `model` begins a model
  /// declaration.
  bool settingOfFile() {
    return found() == TokenType::ASSIGN && previous() == TokenType::MODEL &&
           error.inside == Grammar::RuleModelDeclaration &&
           help("settings belong into the braces of `recipe NAME { ... }`: "
                "write `model = ...` there");
  }

  /// Whether the file reads a name, in an expression or in a string.
  bool isRead(const std::string& name) const {
    for (size_t i = 0; i < list.tokens.size(); ++i) {
      bool isText = type(i) == TokenType::STRING || type(i) == TokenType::TEXT;
      if (isText && textOf(i).find("{" + name + "}") != std::string::npos)
        return true;
      bool isBehindValue = i > 0 && (type(i - 1) == TokenType::ASSIGN ||
                                     type(i - 1) == TokenType::COMMA ||
                                     type(i - 1) == TokenType::LPAREN ||
                                     isBinaryOperator(type(i - 1)));
      if (isBehindValue && isName(type(i)) && textOf(i) == name &&
          type(i + 1) != TokenType::ASSIGN)
        return true;
    }
    return false;
  }

  /// `3 %`
  bool percent() {
    bool isBehindNumber = previous() == TokenType::PERCENT &&
                          isNumber(previous(2)) && error.token >= 2;
    if (!isBehindNumber || beginsExpression(found()))
      return false;
    std::string text = textOf(error.token - 2) + "%";
    return fix("write `" + text + "`, without the space",
               rangeOf(error.token - 2, error.token - 1), text);
  }

  /// `10**-3`, `2**10`
  bool power() {
    bool isPower = found() == TokenType::STAR &&
                   previous() == TokenType::STAR && error.token >= 2;
    if (!isPower)
      return false;
    size_t base = error.token - 2, exponent = error.token + 1;
    bool isNegative = type(exponent) == TokenType::MINUS;
    exponent += isNegative;
    bool arePlain = isNumber(type(base)) && isNumber(type(exponent));
    if (!arePlain)
      return help("a power is written `pow(base, exponent)`");
    std::string sign = isNegative ? "-" : "";
    std::string power =
        textOf(base) == "10"
            ? "1e" + sign + textOf(exponent)
            : "pow(" + textOf(base) + ", " + sign + textOf(exponent) + ")";
    return fix("write `" + power + "`", rangeOf(base, exponent), power);
  }

  /// `a || b`
  bool orSign() {
    return found() == TokenType::PIPE && next() == TokenType::PIPE &&
           fix("write `or`", rangeOf(error.token, error.token + 1), "or");
  }

  /// `f"runs/{name}"`, `r"..."`
  bool prefix() {
    bool isString = found() == TokenType::STRING || found() == TokenType::TEXT;
    if (!isString || previous() != TokenType::IDENTIFIER ||
        !areAdjacent(error.token - 1))
      return false;
    std::string letter = textOf(error.token - 1);
    if (letter == "f" || letter == "u" || letter == "b")
      return fix("strings have no prefix; `{name}` in any is the value of one",
                 list.range(error.token - 1), "");
    return help("strings have no prefix");
  }

  /// `"tp" = 4`, `"tp": 4`
  bool quotedName() {
    bool isKey = found() == TokenType::STRING &&
                 (next() == TokenType::ASSIGN || next() == TokenType::COLON);
    if (!isKey || isOfFile())
      return false;
    std::string name = textOf(error.token);
    name = name.substr(1, name.size() - 2);
    return help("names stand without quotation marks: write `" + name +
                " = ...`; a key of a map is written `[\"" + name +
                "\"] = ...`");
  }

  bool elseIf() {
    bool isWord =
        (found() == TokenType::IDENTIFIER &&
         (textOf(error.token) == "elif" || textOf(error.token) == "elsif")) ||
        (previous() == TokenType::IDENTIFIER &&
         textOf(error.token - 1) == "elif");
    return isWord && help("write `else if`");
  }

  /// `from std.models import llama`; the parser stopped at `from std`.
  bool fromImport() {
    size_t from = error.token;
    if (!isOfFile() || type(from) != TokenType::IDENTIFIER ||
        textOf(from) != "from")
      return false;
    size_t at = from + 1;
    std::string path;
    while (type(at) != TokenType::IMPORT && type(at) != TokenType::SEPARATOR &&
           type(at) != TokenType::EOF)
      path += textOf(at++);
    std::string names;
    size_t last = at;
    if (type(at) == TokenType::IMPORT)
      for (++at; type(at) == TokenType::AS || isName(type(at)) ||
                 type(at) == TokenType::COMMA ||
                 (type(at) == TokenType::SEPARATOR && textOf(at) == ",");
           last = at++)
        names += (names.empty() || textOf(at) == "," ? "" : " ") + textOf(at);
    if (names.empty())
      return help("an import is written `import std.models.llama`");
    std::string import = "import " + path + " { " + names + " }";
    // In a folder, the names are files to import.
    if (path == "std" || path == "std.models" || path == "std.schema")
      import = "import " + path + "." + names;
    return fix("write `" + import + "`", rangeOf(from, last), import);
  }

  /// `model mine amends llama.llama {`: models are declared or given values,
  /// and do not inherit.
  bool amendedModel() {
    const std::string word = textOf(error.token);
    const bool isWord = found() == TokenType::AMENDS || word == "extends" ||
                        word == ":" || word == "(" || word == "from" ||
                        word == "inherits";
    if (previous(2) != TokenType::MODEL || !isWord || !isName(previous()) ||
        !isName(next()))
      return false;
    size_t last = error.token + 1;
    while (type(last + 1) == TokenType::DOT && isName(type(last + 2)))
      last += 2;
    const std::string name = textOf(error.token - 1);
    const std::string parent(sources.text(rangeOf(error.token + 1, last)));
    return help("a model inherits from none: for other sizes write `let " +
                name + " = " + parent +
                " { ... }`, for other blocks a model of its own, `model " +
                name + " { ... }`");
  }

  /// `[q, k, v] = linear(...)`, `q, k, v = linear(...)` in a block.
  bool unpacking() {
    const bool isList = found() == TokenType::SEPARATOR && isComma(error.token);
    if ((!isList && !isComma(error.token)) || !isName(previous()) ||
        !isInFunction())
      return false;
    size_t last = error.token;
    while (isComma(last) && isName(type(last + 1)))
      last += 2;
    const bool isBracketed = type(last) == TokenType::RBRACKET;
    if (type(last + isBracketed) != TokenType::ASSIGN)
      return false;
    return help("a statement binds one name: write a statement for each, as in "
                "`" +
                textOf(error.token - 1) +
                " = linear(x, hidden -> [heads, "
                "head_dim], name = \"" +
                textOf(error.token - 1) + "\")`");
  }

  /// `recipe b extends a`, `recipe b : a`, `recipe b(a)`
  bool extends() {
    if (error.rule != Grammar::RuleRecipeDeclaration)
      return false;
    std::string text = textOf(error.token);
    bool isWord = text == "extends" || text == "inherits" || text == "from" ||
                  text == "of" || text == ":" || text == "<" ||
                  text == "overrides" || text == "based_on";
    if (isWord && isName(next()))
      return fix("write `amends`", list.range(error.token),
                 text == ":" && !isBehindSpace(error.token) ? " amends"
                                                            : "amends");
    return text == "(" &&
           help("a recipe is written `recipe name amends parent { ... }`");
  }

  /// `recipe "llama"`
  bool quotedDeclaration() {
    bool isName = found() == TokenType::STRING && error.token > 0 &&
                  (error.inside == Grammar::RuleRecipeDeclaration ||
                   error.rule == Grammar::RuleRecipeDeclaration);
    if (!isName || isOfFile())
      return false;
    std::string text = textOf(error.token);
    return nameFix(text.substr(1, text.size() - 2), list.range(error.token),
                   "names stand without quotation marks: ");
  }

  /// `recipe llama3-pretrain`
  bool hyphens() {
    if (error.rule != Grammar::RuleRecipeDeclaration ||
        found() != TokenType::MINUS || !isName(previous()))
      return false;
    size_t first = error.token - 1, last = error.token;
    while (areAdjacent(last) &&
           (isName(type(last + 1)) || isNumber(type(last + 1)) ||
            type(last + 1) == TokenType::MINUS))
      ++last;
    std::string text(sources.text(rangeOf(first, last)));
    return nameFix(text, rangeOf(first, last),
                   "names are written with `_`, not with `-`: ");
  }

  /// Proposes the name with `_` in place of characters that names cannot hold.
  bool nameFix(std::string text, SourceRange range, const std::string& why) {
    for (char& letter : text)
      if (!std::isalnum(static_cast<unsigned char>(letter)))
        letter = '_';
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
      return help(why + "they begin with a letter");
    return fix(why + "write `" + text + "`", range, text, Applicability::maybe);
  }

  /// `import std/models/llama`
  bool slashes() {
    if (found() != TokenType::SLASH || error.token < 2)
      return false;
    size_t first = error.token - 1, last = error.token;
    while (first > 0 && type(first) != TokenType::IMPORT &&
           type(first) != TokenType::SEPARATOR)
      --first;
    if (type(first) != TokenType::IMPORT)
      return false;
    while (areAdjacent(last) && type(last + 1) != TokenType::SEPARATOR)
      ++last;
    std::string path(sources.text(rangeOf(first + 1, last)));
    std::replace(path.begin(), path.end(), '/', '.');
    return fix("the parts of a path are divided by `.`: write `import " + path +
                   "`; a file of your own is `import \"folder/file.recipe\"`",
               rangeOf(first + 1, last), path);
  }

  /// `[optimizer]` between braces, where an entry of a map may appear.
  bool table() {
    if (error.rule != Grammar::RuleEntry || previous() != TokenType::RBRACKET ||
        !isName(previous(2)))
      return false;
    size_t first = error.token - 2;
    while (first > 0 && type(first) != TokenType::LBRACKET)
      --first;
    std::string name(sources.text(rangeOf(first + 1, error.token - 2)));
    return help("a section is written `" + name +
                " { name = value }`, and not as in TOML; an entry of a map is "
                "`[\"key\"] = value`");
  }

  /// `100,000`; the parser read `100` and a comma.
  bool thousands() {
    bool isGroup = found() == TokenType::INTEGER && error.token >= 2 &&
                   textOf(error.token).size() == 3 &&
                   isComma(error.token - 1) && areAdjacent(error.token - 1) &&
                   areAdjacent(error.token - 2) &&
                   previous(2) == TokenType::INTEGER;
    if (!isGroup)
      return false;
    size_t last = error.token;
    std::string number = textOf(error.token - 2) + "_" + textOf(error.token);
    while (areAdjacent(last) && isComma(last + 1) && areAdjacent(last + 1) &&
           type(last + 2) == TokenType::INTEGER) {
      last += 2;
      number += "_" + textOf(last);
    }
    return fix("a comma begins another item: write `" + number + "`",
               rangeOf(error.token - 2, last), number);
  }
  bool isComma(size_t token) const {
    return type(token) == TokenType::COMMA ||
           (type(token) == TokenType::SEPARATOR && textOf(token) == ",");
  }

  bool beginsItem() const {
    return error.rule == Grammar::RuleItem || error.rule == Grammar::RuleItems;
  }

  /// A YAML list; its first `-` looks like the sign of a value.
  bool dashedList() {
    bool isElement = next() == TokenType::STRING || isName(next());
    return beginsItem() && found() == TokenType::MINUS && isElement &&
           help("a list is written `[" + textOf(error.token + 1) +
                ", ...]`, and not with dashes as in YAML");
  }

  /// A line that begins with an operator.
  bool continuation() {
    bool isOperator =
        found() == TokenType::PLUS || found() == TokenType::MINUS ||
        found() == TokenType::STAR || found() == TokenType::SLASH ||
        found() == TokenType::AND || found() == TokenType::OR;
    return beginsItem() && isOperator &&
           help("a value ends with its line: put the `" + textOf(error.token) +
                "` at the end of the line before, or the value in parentheses");
  }

  /// YAML, JSON or TOML in place of a declaration.
  bool dataFile() {
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

  /// `hidden => vocab`
  bool fatArrow() {
    return found() == TokenType::GREATER && previous() == TokenType::ASSIGN &&
           areAdjacent(error.token - 1) &&
           fix("dimensions are mapped by `->`",
               rangeOf(error.token - 1, error.token), "->");
  }

  /// `def forward(self, x):` in a model
  bool method() {
    if (isOfFile() || error.token == 0 || textOf(error.token - 1) != "def" ||
        found() != TokenType::IDENTIFIER)
      return false;
    return help("a block is declared `block " + textOf(error.token) +
                "(x) { ... }`, a function `fun " + textOf(error.token) +
                "(x: int): int = ...`");
  }

  bool word() {
    if (!isOfFile() || found() != TokenType::IDENTIFIER ||
        !(isName(next()) || next() == TokenType::STRING))
      return false;
    auto known =
        std::find_if(std::begin(words), std::end(words), [&](const Word& each) {
          return each.foreign == textOf(error.token);
        });
    return known != std::end(words) &&
           fix("write `" + std::string(known->own) + "`",
               list.range(error.token), std::string(known->own),
               Applicability::maybe);
  }

  const SourceMap& sources;
  const TokenList& list;
  const SyntaxError& error;
  diag::Builder& report;
};

} // namespace

bool helpWithForeignSyntax(const SourceMap& sources, const TokenList& list,
                           const SyntaxError& error, diag::Builder& report) {
  return ForeignSyntax(sources, list, error, report).run();
}

} // namespace recipec::parse
