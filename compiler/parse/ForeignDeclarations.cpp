// Help for imports and declarations of other languages.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

namespace recipec::parse {
namespace {

/// A keyword that begins a declaration in other languages, and ours.
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
    return mixinBehind() || recipeHead() || innerQuotes() || optionalType() ||
           choiceType() || severalParents() || severalImports() || allNames() ||
           parentFile() || namedBlock() || fromImport() || amendedModel() ||
           extends() || quotedDeclaration() || hyphens() || slashes() ||
           changedLater() || valueOfFile() || settingOfFile() || word();
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

  /// `Optional[string]`, `List[int]`
  bool optionalType() const {
    if (found() != TokenType::RBRACKET ||
        error.rule != Grammar::RuleMapArguments || error.begin == 0)
      return false;
    const std::string word = textOf(error.begin - 1);
    std::string inner = textOf(error.begin + 1, error.token - 1);
    if (const std::string_view own = ownTypeOf(inner); !own.empty())
      inner = own;
    const SourceRange whole = rangeOf(error.begin - 1, error.token);
    if (word == "map" || inner.empty())
      return false;
    const bool isOptional = word == "Optional" || word == "Maybe" ||
                            word == "Option" || word == "optional";
    const std::string own = isOptional ? inner + " | none" : "[" + inner + "]";
    reword(isOptional ? "a type that may be `none` is written with `|`"
                      : "the type of a list is its element's in brackets",
           whole);
    return fix("write `" + own + "`", whole, own);
  }

  /// `part : enum("a", "b")`, `part : Literal["a", "b"]`
  bool choiceType() const {
    const bool isCall = found() == TokenType::LPAREN;
    const std::string word = textOf(error.token - 1);
    const bool isWord = word == "enum" || word == "Literal" ||
                        word == "choice" || word == "one_of" ||
                        word == "oneof" || word == "Enum" || word == "Union";
    if (!isCall || !isWord || previous(2) != TokenType::COLON)
      return false;
    std::string own;
    size_t at = error.token + 1;
    for (; type(at) != TokenType::RPAREN && type(at) != TokenType::EOF; ++at)
      if (!isComma(at))
        own += (own.empty() ? "" : " | ") + textOf(at);
    if (type(at) != TokenType::RPAREN || own.empty())
      return false;
    reword("the values of a type are divided by `|`",
           rangeOf(error.token - 1, at));
    return fix("write `" + own + "`", rangeOf(error.token - 1, at), own);
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

  /// `import a, b`
  bool severalImports() const {
    if (!isOfFile() || !isName(found()) || error.token < 2 ||
        !isComma(error.token - 1))
      return false;
    size_t first = error.token - 1;
    while (first > 0 && !(isEndOfItem(first - 1) && !isComma(first - 1)))
      --first;
    if (type(first) != TokenType::IMPORT)
      return false;
    const size_t last = lastOfItem(error.token);
    reword("an import names one file",
           rangeOf(error.token, std::max(error.token, last)));
    return fix("write `import " + textOf(error.token, last) +
                   "` on a line of its own",
               {list.source, list.tokens[error.token - 1].begin,
                list.tokens[error.token].begin},
               "\nimport ");
  }

  /// Whether a path is a folder of the standard library.
  static bool isFolder(std::string_view path) {
    return path == "std" || path == "std.models" || path == "std.schema";
  }

  /// `import std.models.llama.*`, `import std.models.llama { * }`
  bool allNames() const {
    const bool isInBraces =
        previous() == TokenType::OPEN || previous() == TokenType::BLOCK_OPEN;
    if (found() != TokenType::STAR ||
        (previous() != TokenType::DOT && !isInBraces))
      return false;
    size_t first = error.token - 1;
    while (first > 0 && type(first) != TokenType::IMPORT && !isEndOfItem(first))
      --first;
    if (type(first) != TokenType::IMPORT || first + 1 >= error.token - 1)
      return false;
    const std::string path = textOf(first + 1, error.token - 2);
    reword("an import takes a file, or the names in braces, and has no `*`");
    if (isFolder(path))
      return help("`" + path +
                  "` is a folder: import one of its files, as in "
                  "`import std.models.llama`, and write `llama.NAME`");
    const size_t end = error.token + (isInBraces && next() == TokenType::CLOSE);
    return fix(
        "write `import " + path + "` and `" + aliasOf(error.token - 2) +
            ".name`; `import " + path + " { a, b }` takes names of it",
        {list.source, list.tokens[error.token - 2].end, list.tokens[end].end},
        "");
  }

  /// What an import calls the file whose path ends at a token: `base` of
  /// `"../base.recipe"`.
  std::string aliasOf(size_t last) const {
    std::string path = textOf(last);
    if (type(last) != TokenType::STRING)
      return path;
    path = path.substr(path.find_last_of("/\"", path.size() - 2) + 1);
    return path.substr(0, path.find_first_of(".\""));
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
      return help("write `let " + name +
                  " = value`; `--set PATH=VALUE` "
                  "changes a setting from the command line");
    }
    if (word == "resource" || word == "job" || word == "task" ||
        word == "config" || word == "experiment") {
      reword("`" + word + "` declares nothing here: a job is a `recipe`");
      return help("write `recipe " + name + " { ... }`");
    }
    return false;
  }

  /// `from std.models import llama`; the parser stopped at `from std`.
  bool fromImport() const {
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
    if (isFolder(path))
      import = "import " + path + "." + names;
    return fix("write `" + import + "`", rangeOf(from, last), import);
  }

  /// `model mine amends llama.llama {`: models are declared or given values,
  /// and do not inherit.
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

  /// `recipe llama3-pretrain`
  bool hyphens() const {
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
  bool nameFix(std::string text, SourceRange range,
               const std::string& why) const {
    for (char& letter : text)
      if (!std::isalnum(static_cast<unsigned char>(letter)))
        letter = '_';
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
      return help(why + "they begin with a letter");
    return fix(why + "write `" + text + "`", range, text, Applicability::maybe);
  }

  /// `import std/models/llama`
  bool slashes() const {
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

  /// `tiny.layers = 4` or `tiny { layers = 4 }` at file level, where the file
  /// has declared `tiny`: what is declared does not change later.
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

  /// The keyword of the file's `let`, recipe or mixin of this name.
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

  /// `folder = "data"` at file level is certainly a `let` if the file reads the
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

  /// `model = llama.llama3_8b` at file level, where `model` begins a model
  /// declaration.
  bool settingOfFile() const {
    return found() == TokenType::ASSIGN && previous() == TokenType::MODEL &&
           error.inside == Grammar::RuleModelDeclaration &&
           help("settings belong into the braces of `recipe NAME { ... }`: "
                "write `model = ...` there");
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
