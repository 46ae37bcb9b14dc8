// Help for imports and declarations of other languages.

#include "compiler/parse/BrokenNames.h"
#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

namespace recipec::parse {
namespace {

/// A keyword that begins a declaration in another language, and our keyword for
/// it.
struct ForeignKeyword {
  std::string_view foreign, own;
};

constexpr ForeignKeyword foreignKeywords[] = {
    {"class", "schema"},     {"struct", "schema"}, {"type", "schema"},
    {"interface", "schema"}, {"def", "fun"},       {"func", "fun"},
    {"function", "fun"},     {"fn", "fun"},        {"const", "let"},
    {"var", "let"},          {"val", "let"},       {"local", "let"},
    {"include", "import"},   {"use", "import"},    {"using", "import"},
    {"job", "recipe"},       {"config", "recipe"}, {"experiment", "recipe"},
    {"run", "recipe"},       {"trait", "mixin"},   {"module", "model"},
};

class ForeignDeclarations : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return mixinBehind() || secondWith() || recipeHead() || assignedHead() ||
           innerQuotes() || severalParents() || parentFile() || namedBlock() ||
           amendedModel() || heir() || extends() || quotedDeclaration() ||
           brokenName() || changedLater() || valueOfFile() || settingOfFile() ||
           enumeration() || printed() || ruleOfFile() || word();
  }

private:
  /// Whether the token of the error is the last one on its line.
  bool isEndOfLine() const {
    return error.token + 1 >= list.tokens.size() ||
           sources.text({list.source, list.tokens[error.token].end,
                         list.tokens[error.token + 1].begin})
                   .find('\n') != std::string_view::npos ||
           isEndOfItem(error.token + 1);
  }

  /// `recipe b amends a { ... } with w`
  bool mixinBehind() const {
    if (!isOfFile() || found() != TokenType::WITH ||
        previous() != TokenType::CLOSE)
      return false;
    const size_t last = lastOfItem(error.token);
    reword("mixins stand before the braces of a recipe, not behind them",
           rangeOf(error.token, last));
    return help("write `" + textOf(error.token, last) +
                "` before the `{` of the recipe");
  }

  /// `recipe b amends a with v with w {`
  bool secondWith() const {
    const size_t first = firstOfItem();
    const bool isRecipe =
        type(first) == TokenType::RECIPE || type(first) == TokenType::ABSTRACT;
    bool hasWith = false;
    for (size_t at = first; at < error.token; ++at)
      hasWith |= type(at) == TokenType::WITH;
    if (found() != TokenType::WITH || !isRecipe || !hasWith)
      return false;
    reword("mixins are divided by commas behind one `with`");
    return fix("write `, " + textOf(error.token + 1) + "`",
               {list.source, list.tokens[error.token - 1].end,
                list.tokens[error.token].end},
               ",");
  }

  /// `schema part = {`, `mixin wide = {`, `recipe b = base {`
  bool assignedHead() const {
    const bool isHead = error.rule == Grammar::RuleSchemaDeclaration ||
                        error.rule == Grammar::RuleMixinDeclaration ||
                        error.rule == Grammar::RuleModelDeclaration ||
                        error.rule == Grammar::RuleRecipeDeclaration ||
                        error.rule == Grammar::RuleBody;
    if (!isHead || found() != TokenType::ASSIGN || !isName(previous()))
      return false;
    const std::string head = textOf(firstOfItem(), error.token - 1);
    if (next() == TokenType::OPEN) {
      reword("a declaration has its braces without `=`");
      return fix("write `" + head + " {`",
                 {list.source, list.tokens[error.token - 1].end,
                  list.tokens[error.token + 1].begin},
                 " ");
    }
    if (error.rule != Grammar::RuleRecipeDeclaration || !isName(next()))
      return false;
    reword("a recipe is made of another by `amends`, not by `=`");
    return fix("write `" + head + " amends " + textOf(error.token + 1) + "`",
               list.range(error.token),
               isBehindSpace(error.token) ? "amends" : " amends");
  }

  /// `schema b amends a {`, `mixin b : a {`, `schema a(x: int) {`
  bool heir() const {
    const bool isSchema = type(firstOfItem()) == TokenType::SCHEMA;
    const bool isMixin = type(firstOfItem()) == TokenType::MIXIN;
    const std::string word = textOf(error.token);
    const bool isWord = found() == TokenType::AMENDS || word == "extends" ||
                        word == ":" || word == "inherits" || word == "with" ||
                        (word == "(" && isSchema);
    if ((!isSchema && !isMixin) || !isWord || !isName(previous()) ||
        error.token != firstOfItem() + 2)
      return false;
    const std::string name = textOf(error.token - 1);
    const std::string parent = isName(next()) ? textOf(error.token + 1) : "";
    if (isSchema && word == "(") {
      reword("a schema has no parameters: its fields are");
      return help("write the fields between its braces, `schema " + name +
                  " { ... }`");
    }
    if (parent.empty())
      return false;
    reword("a " + std::string(isSchema ? "schema" : "mixin") +
               " inherits from none",
           rangeOf(error.token, error.token + 1));
    if (isSchema)
      return help("repeat the fields of `" + parent + "` in `schema " + name +
                  " { ... }`, or hold one in a field, `" + parent + " : " +
                  parent + "`");
    const std::string both = word == "with"
                                 ? "with " + parent + ", " + name
                                 : "amends " + parent + " with " + name;
    return help("write `mixin " + name +
                " { ... }`; a recipe names both, `recipe NAME " + both + "`");
  }

  /// `recipe = small {`, `recipe small(n) {`, `recipe abstract small {`
  bool recipeHead() const {
    if (previous() == TokenType::RECIPE && found() == TokenType::ASSIGN &&
        isName(next()))
      return fix("a recipe is declared as `recipe " + textOf(error.token + 1) +
                     " { ... }`, without `=`",
                 {list.source, list.tokens[error.token].begin,
                  list.tokens[error.token + 1].begin},
                 "");
    if (error.rule != Grammar::RuleRecipeDeclaration)
      return false;
    // `recipe small = {`, `recipe small:`
    const bool isAssigned =
        found() == TokenType::ASSIGN && next() == TokenType::OPEN;
    const bool isSuite = found() == TokenType::COLON && isEndOfLine();
    if (isName(previous()) && (isAssigned || isSuite)) {
      const std::string head = textOf(firstOfItem(), error.token - 1);
      reword("the settings of a recipe stand in braces" +
             std::string(isSuite ? ", not behind `:`" : ", without `=`"));
      const SourceRange sign{list.source, list.tokens[error.token - 1].end,
                             isSuite ? list.tokens[error.token].end
                                     : list.tokens[error.token + 1].begin};
      return fix("write `" + head + " {`" +
                     (isSuite ? ", and a `}` behind the last of them" : ""),
                 sign, isSuite ? " {" : " ");
    }
    if (previous() == TokenType::ABSTRACT && isName(found()) &&
        previous(2) == TokenType::RECIPE) {
      reword("`abstract` stands before `recipe`", list.range(error.token - 1));
      return fix("write `abstract recipe " + textOf(error.token) + "`",
                 rangeOf(error.token - 2, error.token - 1), "abstract recipe");
    }
    if (found() != TokenType::LPAREN || previous(2) != TokenType::RECIPE ||
        (isName(next()) && next(2) == TokenType::RPAREN))
      return false;
    const std::string name = textOf(error.token - 1);
    size_t close = error.token;
    while (type(close) != TokenType::RPAREN && !isEndOfItem(close))
      ++close;
    reword("a recipe has no parameters: mixins have",
           rangeOf(error.token, close));
    size_t parent = close + 1;
    while (type(parent + 1) == TokenType::DOT ||
           (isName(type(parent + 1)) && !isEndOfItem(parent + 1)))
      ++parent;
    const std::string amends = type(close + 1) == TokenType::AMENDS
                                   ? textOf(close + 1, parent) + " "
                                   : std::string();
    return help("write `mixin " + name + textOf(error.token, close) +
                " { ... }`, and `recipe NAME " + amends + "with " + name +
                "(...) { ... }`");
  }

  /// `"say "hi" now"`: a name glued to the end of a string
  bool innerQuotes() const {
    if (!isName(found()) || previous() != TokenType::STRING ||
        !areAdjacent(error.token - 1) || next() != TokenType::STRING)
      return false;
    size_t last = error.token + 1;
    while (areAdjacent(last) && !isEndOfItem(last + 1))
      ++last;
    std::string text = textOf(error.token - 1, last);
    std::string own;
    for (size_t i = 0; i < text.size(); ++i)
      own += text[i] == '"' && i > 0 && i + 1 < text.size()
                 ? std::string("\\\"")
                 : std::string(1, text[i]);
    reword("the string ends at its second `\"`, before `" +
               textOf(error.token) + "`",
           rangeOf(error.token - 1, error.token));
    return fix("write a `\"` of the text as `\\\"`: `" + own + "`",
               rangeOf(error.token - 1, last), own);
  }

  /// `recipe b amends a, c {`
  bool severalParents() const {
    const bool isHeader = error.rule == Grammar::RuleRecipeDeclaration ||
                          error.inside == Grammar::RuleRecipeDeclaration;
    if (!isHeader || !isComma(error.token) || !isName(next()))
      return false;
    size_t first = error.token;
    while (first > 0 && type(first) != TokenType::AMENDS &&
           !isEndOfItem(first - 1))
      --first;
    if (type(first) != TokenType::AMENDS)
      return false;
    reword("a recipe amends one recipe; mixins may follow behind `with`");
    return help("write `" + textOf(first, error.token - 1) + " with " +
                textOf(error.token + 1) + "`, where `" +
                textOf(error.token + 1) + "` is declared as a `mixin`");
  }

  /// `amends "base.pkl"`, `include "base.recipe"` at the top of a file
  bool parentFile() const {
    const std::string word = textOf(error.token);
    const bool isWord = word == "amends" || word == "extends" ||
                        word == "include" || word == "inherit" ||
                        word == "source" || word == "base" || word == "module";
    if (!isOfFile() || !isWord || next() != TokenType::STRING ||
        !isEndOfItem(error.token + 2))
      return false;
    reword("a file does not " +
           std::string(word == "include" || word == "source"
                           ? "include another as text"
                           : "amend another: its recipes do"));
    return help("write `import " + textOf(error.token + 1) +
                " { base }` and `recipe NAME amends base { ... }`, where "
                "`base` is a recipe of that file");
  }

  /// `variable "ranks" {` and other blocks of HCL
  bool namedBlock() const {
    if (!isOfFile() || !isName(found()) || next() != TokenType::STRING)
      return false;
    const std::string word = textOf(error.token);
    const std::string quoted = textOf(error.token + 1);
    std::string name = quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2)
                                         : std::string("name");
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char letter) { return !std::isalnum(letter); }, '_');
    if (word == "variable" || word == "locals" || word == "local" ||
        word == "param" || word == "parameter") {
      reword("`" + word +
             "` declares nothing here: a value is named with "
             "`let`");
      return help("write `let " + name + " = " + defaultIn(error.token + 2) +
                  "`; `--set PATH=VALUE` "
                  "changes a setting from the command line");
    }
    if (word == "resource" || word == "job" || word == "task" ||
        word == "config" || word == "experiment") {
      reword("`" + word + "` declares nothing here: a job is a `recipe`");
      return help("write `recipe " + name + " { ... }`");
    }
    return false;
  }

  /// The default in `{ default = 128 }`, or `value` if there is none.
  std::string defaultIn(size_t brace) const {
    const int depth = list.tokens[brace].depth;
    for (size_t at = brace + 1;
         at < list.tokens.size() && list.tokens[at].depth > depth; ++at)
      if (textOf(at) == "default" && type(at + 1) == TokenType::ASSIGN)
        return textOf(at + 2, lastOfItem(at + 2));
    return "value";
  }

  /// `model mine amends llama.llama {`: models do not inherit; they are
  /// declared, or a recipe sets their fields.
  bool amendedModel() const {
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
    if (word == "(" && next(2) == TokenType::COLON)
      return modelParameters();
    const std::string parent(sources.text(rangeOf(error.token + 1, last)));
    return help("a model inherits from none: for other sizes write `let " +
                name + " = " + parent +
                " { ... }`, for other blocks a model of its own, `model " +
                name + " { ... }`");
  }

  /// `model mine(width: int) {`
  bool modelParameters() const {
    const int depth = list.tokens[error.token].depth;
    std::string fields, lines;
    size_t first = error.token + 1, close = first;
    for (; close < list.tokens.size() && list.tokens[close].depth > depth;
         ++close) {
      const bool isLast = type(close + 1) == TokenType::RPAREN &&
                          list.tokens[close + 1].depth == depth;
      if (!isLast && !isComma(close))
        continue;
      std::string field = textOf(first, isLast ? close : close - 1);
      if (const size_t colon = field.find(':');
          colon != field.npos && colon > 0 && field[colon - 1] != ' ')
        field.insert(colon, " ");
      fields += (fields.empty() ? "`" : ", `") + field + "`";
      lines += "\n  " + field;
      first = close + 1;
    }
    reword("a model has no parameters: its fields are",
           rangeOf(error.token, close));
    report.help("write " + fields + " between its braces");
    if (type(close + 1) != TokenType::OPEN)
      return true;
    report.fixIt(rangeOf(error.token, close), "");
    const uint32_t inside = list.tokens[close + 1].end;
    report.fixIt({list.source, inside, inside}, lines);
    return true;
  }

  /// `recipe b extends a`, `recipe b : a`, `recipe b(a)`
  bool extends() const {
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
  bool quotedDeclaration() const {
    bool isName = found() == TokenType::STRING && error.token > 0 &&
                  (error.inside == Grammar::RuleRecipeDeclaration ||
                   error.rule == Grammar::RuleRecipeDeclaration);
    if (!isName || isOfFile())
      return false;
    std::string text = textOf(error.token);
    return nameFix(text.substr(1, text.size() - 2), list.range(error.token),
                   "names stand without quotation marks: ");
  }

  /// `recipe llama3-pretrain`, `let v1.2 = 4`, `mixin 8b {`,
  /// `weight-decay = 0.1`, `llama.llama3.2_1b`
  bool brokenName() const {
    const bool isSign =
        found() == TokenType::MINUS || found() == TokenType::DOT;
    const bool isPath = error.rule == Grammar::RuleSetting ||
                        error.inside == Grammar::RuleSuffix ||
                        error.inside == Grammar::RulePath;
    const bool isField = isAtItem() && isNumber(found()) && isName(next()) &&
                         next(2) == TokenType::ASSIGN;
    if ((!isSign && !isNumber(found())) ||
        !(isPath || isField || declaresName()))
      return false;
    const auto broken = brokenNameAt(sources, list, error.token, isPath);
    if (!broken)
      return false;
    reword("a name has letters, digits and `_`, and begins with no digit",
           broken->range);
    const std::string text = "write `" + broken->own + "`";
    report.otherwise(text); // printed if nothing here declares this name
    return fix(text, broken->range, broken->own, Applicability::maybe);
  }
  /// Whether the error is at, or directly after, the name of a declaration, a
  /// variable or a parameter.
  bool declaresName() const {
    switch (error.rule == Grammar::RuleName ||
                    error.rule == Grammar::RuleParameters ||
                    error.rule == Grammar::RuleBody
                ? error.inside
                : error.rule) {
    case Grammar::RuleRecipeDeclaration:
    case Grammar::RuleMixinDeclaration:
    case Grammar::RuleSchemaDeclaration:
    case Grammar::RuleModelDeclaration:
    case Grammar::RuleLet:
    case Grammar::RuleFunction:
    case Grammar::RuleBlock:
    case Grammar::RuleFixedField:
    case Grammar::RuleParameter:
      return true;
    default:
      return false;
    }
  }

  /// Proposes the name with `_` in place of characters that names cannot hold.
  bool nameFix(std::string text, SourceRange range,
               const std::string& why) const {
    for (char& letter : text)
      if (!std::isalnum(static_cast<unsigned char>(letter)))
        letter = '_';
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
      return help(why + "they begin with a letter");
    return fix(why + "write `" + text + "`", range, text, Applicability::maybe);
  }

  /// `tiny.layers = 4` or `tiny { layers = 4 }` at file level, if the file has
  /// declared `tiny`: a declaration cannot be changed later.
  bool changedLater() const {
    const bool isPath = next() == TokenType::DOT && isName(next(2));
    const bool isBraces =
        next() == TokenType::OPEN || next() == TokenType::BLOCK_OPEN;
    if (!isOfFile() || !isName(found()) || !(isPath || isBraces) ||
        beginsIndentedLine(sources, list, error.token))
      return false;
    const auto declared = declarationOf(textOf(error.token));
    if (!declared)
      return false;
    const size_t last = lastOfItem(error.token);
    std::string setting = textOf(error.token + 2, last);
    const size_t begin = setting.find_first_not_of(" \n");
    if (begin == setting.npos || setting.find('\n') != setting.npos)
      setting = "its settings";
    else
      setting =
          "`" +
          setting.substr(begin, setting.find_last_not_of(" \n") + 1 - begin) +
          "`";
    const std::string head = textOf(*declared, *declared + 1);
    reword("`" + textOf(error.token) + "` is declared in line " +
               std::to_string(
                   sources.lineColumn(list.source, list.tokens[*declared].begin)
                       .line) +
               ", and what is declared does not change later",
           rangeOf(error.token, isPath ? error.token + 2 : error.token));
    // `let tiny = llama.llama3_8b` has no braces yet.
    const size_t end = lastOfItem(*declared);
    const bool hasBraces = type(end + 1) == TokenType::CLOSE;
    const bool isShort = setting.starts_with('`') &&
                         textOf(*declared, end).find('\n') == std::string::npos;
    if (type(*declared) == TokenType::LET && !hasBraces && isShort)
      return help("write `" + textOf(*declared, end) + " { " +
                  setting.substr(1, setting.size() - 2) + " }`");
    return help("write " + setting + " between the braces of `" + head + "`");
  }

  /// The keyword of the `let`, recipe or mixin of this name in the file.
  std::optional<size_t> declarationOf(const std::string& name) const {
    for (size_t i = 0; i + 1 < list.tokens.size(); ++i) {
      const bool isDeclared = type(i) == TokenType::LET ||
                              type(i) == TokenType::RECIPE ||
                              type(i) == TokenType::MIXIN;
      if (isDeclared && list.tokens[i].depth == 0 && textOf(i + 1) == name)
        return i;
    }
    return std::nullopt;
  }

  /// `folder = "data"` at file level: certainly a `let` if the file uses the
  /// name.
  bool valueOfFile() const {
    // `name := value`
    const bool isWalrus =
        next() == TokenType::COLON && next(2) == TokenType::ASSIGN;
    const size_t sign = error.token + 1 + isWalrus;
    if (!isOfFile() || !isName(found()) || type(sign) != TokenType::ASSIGN ||
        isEndOfItem(sign + 1) || beginsIndentedLine(sources, list, error.token))
      return false;
    size_t last = sign + 1;
    while (!isEndOfItem(last + 1))
      ++last;
    std::string text = textOf(error.token) + " = " + textOf(sign + 1, last);
    if (text.find('\n') != text.npos)
      text = textOf(error.token) + " = ...";
    SourceRange start = list.range(error.token);
    start.end = start.begin;
    if (isWalrus)
      return fix("a file names a value with `let`: write `let " + text + "`",
                 rangeOf(error.token, sign),
                 "let " + textOf(error.token) + " =");
    return fix("a file names a value with `let`: write `let " + text +
                   "`; settings belong into the braces of `recipe NAME { ... "
                   "}`",
               start, "let ",
               isRead(textOf(error.token)) ? Applicability::safe
                                           : Applicability::maybe);
  }

  /// Whether the file uses a name, in an expression or in a string.
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

  /// `model = llama.llama3_8b` at file level, where `model` begins a model
  /// declaration.
  bool settingOfFile() const {
    return found() == TokenType::ASSIGN && previous() == TokenType::MODEL &&
           error.inside == Grammar::RuleModelDeclaration &&
           help("settings belong into the braces of `recipe NAME { ... }`: "
                "write `model = ...` there");
  }

  /// `enum part { train, valid }`
  bool enumeration() const {
    if (!isOfFile() || textOf(error.token) != "enum" || !isName(next()))
      return false;
    std::string choices;
    for (size_t at = error.token + 2;
         at < list.tokens.size() && type(at) != TokenType::CLOSE; ++at)
      if (isName(type(at)))
        choices += (choices.empty() ? "\"" : " | \"") + textOf(at) + "\"";
    reword("there are no enumerations: a field's type lists its choices");
    return help("write `" + textOf(error.token + 1) + " : " +
                (choices.empty() ? "\"a\" | \"b\"" : choices) +
                "` as the field");
  }

  /// `print(total)`
  bool printed() const {
    const std::string word = textOf(error.token);
    if (!isOfFile() || next() != TokenType::LPAREN ||
        (word != "print" && word != "println" && word != "echo" &&
         word != "log"))
      return false;
    reword("a recipe prints nothing");
    return help("leave it out; `recipec explain FILE PATH` shows a value and "
                "where it comes from");
  }

  /// `require ranks > 1 : "..."` outside of all braces
  bool ruleOfFile() const {
    if (!isOfFile() || found() != TokenType::REQUIRE)
      return false;
    reword("a `require` stands in the braces of the recipe, model or schema "
           "whose fields it tests");
    return help("put it into the braces of `recipe NAME { ... }`");
  }

  bool word() const {
    if (isOfFile() && found() == TokenType::AUTO && isName(next()))
      return fix("a value is named with `let`: write `let`",
                 list.range(error.token), "let", Applicability::maybe);
    if (!isOfFile() || found() != TokenType::IDENTIFIER ||
        !(isName(next()) || next() == TokenType::STRING))
      return false;
    auto known =
        std::find_if(std::begin(foreignKeywords), std::end(foreignKeywords),
                     [&](const ForeignKeyword& each) {
                       return each.foreign == textOf(error.token);
                     });
    return known != std::end(foreignKeywords) &&
           fix("write `" + std::string(known->own) + "`",
               list.range(error.token), std::string(known->own),
               Applicability::maybe);
  }
};

} // namespace

bool helpWithForeignDeclarations(const SourceMap& sources,
                                 const TokenList& list,
                                 const SyntaxError& error,
                                 diag::Builder& report) {
  return ForeignDeclarations(sources, list, error, report).run();
}

} // namespace recipec::parse
