// Help for statements and items of Python, C and other languages.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>

namespace recipec::parse {
namespace {

class ForeignStatements : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return loopBrackets() || fieldWithoutType() || bareMessage() ||
           sectionCall() || sectionLine() || modifier() || pathBySlash() ||
           forBefore() || requireMessage() || wordBefore() || letIn() ||
           spread() || typedLet() || mutableLet() || keyword() ||
           forgottenReturn() || assignment() || elseIf() || mutation() ||
           callAsItem() || method();
  }

private:
  /// `for (i in 0..n) {`
  bool loopBrackets() const {
    if (found() != TokenType::LPAREN || previous() != TokenType::FOR)
      return false;
    size_t close = error.token + 1;
    while (!isEndOfItem(close) && type(close) != TokenType::RPAREN)
      ++close;
    const std::string inner = textOf(error.token + 1, close - 1);
    if (type(close + 1) == TokenType::IN)
      return loopNames(close, inner);
    reword("`for` has no parentheses around its variable and list");
    if (inner.find(" in ") == inner.npos)
      return help("a repetition is written `for i in 0..n { ... }`");
    return fix("write `for " + inner + "`", rangeOf(error.token, close), inner);
  }

  /// `for (i, x) in xs`: two names are the index and the element of a list, or
  /// the key and the value of a map.
  bool loopNames(size_t close, const std::string& names) const {
    reword("`for` has no parentheses around its names",
           rangeOf(error.token, close));
    const bool isZip = textOf(close + 2) == "zip";
    if (isZip || std::count(names.begin(), names.end(), ',') > 1)
      return help("each element is one value: write `for row in " +
                  std::string(isZip ? "zip(...)" : "...") +
                  "`, and `row[0]` and `row[1]` for its parts");
    return fix("write `for " + names + " in`", rangeOf(error.token, close),
               names);
  }

  /// `layers` alone between the braces of a model or schema
  bool fieldWithoutType() const {
    const size_t head = headType();
    if (error.rule != Grammar::RuleSetting || !isEndOfItem(error.token) ||
        error.begin + 1 != error.token ||
        (head != TokenType::MODEL && head != TokenType::SCHEMA))
      return false;
    const std::string name = textOf(error.begin);
    reword("the field `" + name + "` has no type", list.range(error.begin));
    return help("declare it with its type: `" + name + " : int`, or `" + name +
                " : int = 2` with a default");
  }

  /// `require x > 8 : too small`
  bool bareMessage() const {
    if (!isAtItem() || !isName(found()) || !isName(previous()))
      return false;
    const size_t first = firstOfItem();
    if (type(first) != TokenType::REQUIRE)
      return false;
    size_t colon = first;
    while (colon < error.token && type(colon) != TokenType::COLON)
      ++colon;
    if (colon >= error.token)
      return false;
    const size_t last = lastOfItem(error.token);
    const std::string own = "\"" + textOf(colon + 1, last) + "\"";
    reword("the message of `require` is a string", rangeOf(colon + 1, last));
    return own.find('"', 1) + 1 == own.size() &&
           fix("write `" + own + "`", rangeOf(colon + 1, last), own);
  }

  /// `batch(global = 4)` for `batch { global = 4 }`
  bool sectionCall() const {
    if (error.rule != Grammar::RuleSetting || found() != TokenType::LPAREN ||
        !setsFields() || next(2) != TokenType::ASSIGN || !isName(next()))
      return false;
    const int depth = list.tokens[error.token].depth;
    size_t close = error.token + 1;
    while (close < list.tokens.size() && list.tokens[close].depth > depth)
      ++close;
    if (type(close) != TokenType::RPAREN || !isEndOfItem(close + 1))
      return false;
    const std::string own = textOf(error.begin, error.token - 1) + " { " +
                            textOf(error.token + 1, close - 1) + " }";
    reword("a section is written with braces, not as a call",
           rangeOf(error.begin, error.token));
    return fix("write `" + own + "`", rangeOf(error.begin, close), own);
  }

  /// `batch global = 4`
  bool sectionLine() const {
    if (error.rule != Grammar::RuleSetting || error.begin + 1 != error.token ||
        !isName(found()) || next() != TokenType::ASSIGN || !setsFields() ||
        isModifier(textOf(error.begin)))
      return false;
    const std::string own = textOf(error.begin) + " { " +
                            textOf(error.token, lastOfItem(error.token)) + " }";
    reword("a field of a section stands in its braces",
           rangeOf(error.begin, error.token));
    const int line =
        sources.lineColumn(list.source, list.tokens[error.begin].begin).line;
    const std::string_view text = sources.lineText(list.source, line);
    const uint32_t at = list.tokens[error.token].begin;
    if (text.find('{') == text.npos && text.find('}') != text.npos)
      return fix("write `" + textOf(error.begin) + " {`: the `{` is missing",
                 {list.source, at, at}, "{ ");
    return fix("write `" + own + "`",
               rangeOf(error.begin, lastOfItem(error.token)), own,
               Applicability::maybe);
  }

  static bool isModifier(std::string_view word) {
    return word == "override" || word == "set" || word == "const" ||
           word == "var" || word == "local" || word == "mut" ||
           word == "public" || word == "private" || word == "export" ||
           word == "final" || word == "readonly" || word == "static" ||
           word == "auto" || word == "val" || word == "def" ||
           word == "required" || word == "optional" || word == "field";
  }

  /// `override batch { ... }`, `set tp = 2`, `const a = 3`
  bool modifier() const {
    if (error.rule != Grammar::RuleSetting || error.begin + 1 != error.token ||
        !isName(found()) || !isModifier(textOf(error.begin)) ||
        (next() != TokenType::ASSIGN && next() != TokenType::OPEN &&
         next() != TokenType::DOT && next() != TokenType::COLON))
      return false;
    const std::string word = textOf(error.begin);
    if (next() == TokenType::COLON) {
      reword("`" + word + "` has no meaning before a field",
             list.range(error.begin));
      return fix("remove it: a field without a default has to be set",
                 {list.source, list.tokens[error.begin].begin,
                  list.tokens[error.token].begin},
                 "");
    }
    const bool isLet = word == "const" || word == "var" || word == "local" ||
                       word == "val" || word == "mut";
    const bool declares = isLet && !isInFunction();
    reword("`" + word + "` has no meaning before an item",
           list.range(error.begin));
    return fix(std::string("remove it") +
                   (declares ? ", or write `let` if `" + textOf(error.token) +
                                   "` is a name of your own"
                             : ": what is written here overrides the parent"),
               {list.source, list.tokens[error.begin].begin,
                list.tokens[error.token].begin},
               declares ? "let " : "", Applicability::maybe);
  }

  /// `batch/global = 4`
  bool pathBySlash() const {
    if (error.rule != Grammar::RuleSetting || found() != TokenType::SLASH ||
        !isName(next()) || next(2) != TokenType::ASSIGN)
      return false;
    const std::string own =
        textOf(error.begin, error.token - 1) + "." + textOf(error.token + 1);
    reword("the parts of a path are divided by `.`, not by `/`");
    return fix("write `" + own + "`", list.range(error.token), ".");
  }

  /// `[for x in xs: 2 * x]`, `{k: 1 for k in ks}`
  bool forBefore() const {
    if (found() != TokenType::FOR || previous() != TokenType::LBRACKET)
      return false;
    size_t colon = error.token;
    while (!isEndOfItem(colon) && type(colon) != TokenType::COLON &&
           type(colon) != TokenType::RBRACKET)
      ++colon;
    const size_t last = colon + 1;
    reword("the element of a comprehension stands before its `for`");
    size_t close = last;
    const int depth = list.tokens[error.token].depth;
    while (close < list.tokens.size() && list.tokens[close].depth >= depth)
      ++close;
    if (type(colon) != TokenType::COLON || close <= last)
      return help("write `[x for x in xs]`");
    const std::string own =
        textOf(last, close - 1) + " " + textOf(error.token, colon - 1);
    return fix("write `[" + own + "]`", rangeOf(error.token, close - 1), own);
  }

  /// `require x > 2, "too small"`
  bool requireMessage() const {
    if (!isAtItem() || found() != TokenType::STRING || error.token < 2 ||
        !isComma(error.token - 1))
      return false;
    size_t first = error.token - 2;
    while (first > 0 && type(first) != TokenType::SEPARATOR &&
           type(first) != TokenType::OPEN &&
           type(first) != TokenType::BLOCK_OPEN)
      --first;
    if (type(first + (first > 0)) != TokenType::REQUIRE)
      return false;
    reword("the message of `require` stands behind `:`, not behind `,`",
           rangeOf(error.token - 1, error.token));
    return fix("write ` : " + textOf(error.token) + "`",
               list.range(error.token - 1), " :");
  }

  /// `new llama { ... }`, where the parser stopped behind `new`.
  bool wordBefore() const {
    const std::string word = textOf(error.token - 1);
    if (!isName(found()) ||
        (word != "new" && word != "await" && word != "ref" && word != "typeof"))
      return false;
    reword("a record is made by its schema and braces, without `" + word + "`",
           list.range(error.token - 1));
    return fix("remove the `" + word + "`",
               {list.source, list.tokens[error.token - 1].begin,
                list.tokens[error.token].begin},
               "");
  }

  /// `hidden = let w = 32 in 2 * w`
  bool letIn() const {
    if (found() != TokenType::LET || isAtItem() || isOfFile() ||
        isInterpolation() || error.token == 0)
      return false;
    size_t in = error.token;
    while (!isEndOfItem(in) && type(in) != TokenType::IN)
      ++in;
    if (type(in) != TokenType::IN || in <= error.token + 3)
      return false;
    const std::string let = textOf(error.token, in - 1);
    const size_t first = firstOfItem();
    const SourceRange start{list.source, list.tokens[first].begin,
                            list.tokens[first].begin};
    reword("a `let` is an item of its own, and has no `in`",
           rangeOf(error.token, in));
    report.help("write `" + let + "` on a line before this item, and here `" +
                textOf(in + 1, lastOfItem(in)) + "`");
    const int column = sources.lineColumn(list.source, start.begin).column;
    report.fixIt(start, let + "\n" + std::string(size_t(column - 1), ' '),
                 Applicability::safe);
    report.fixIt({list.source, list.tokens[error.token].begin,
                  list.tokens[in + 1].begin},
                 "", Applicability::safe);
    return true;
  }

  /// `**common`, `...common`, `..common`, `<<: *common` among items.
  bool spread() const {
    if (!isAtItem())
      return false;
    const bool isStars =
        found() == TokenType::STAR && next() == TokenType::STAR;
    const bool isDots = found() == TokenType::RANGE;
    const bool isMerge =
        found() == TokenType::LESS && next() == TokenType::LESS;
    if (!isStars && !isDots && !isMerge)
      return false;
    size_t name = error.token + 1;
    while (name < list.tokens.size() && !isName(type(name)) &&
           !isEndOfItem(name))
      ++name;
    const std::string text =
        isName(type(name)) ? textOf(name, lastOfItem(name)) : "common";
    reword("fields are not copied with `" +
               textOf(error.token, name < list.tokens.size() && name > 0
                                       ? name - 1
                                       : error.token) +
               "`: a record is copied by braces behind it",
           rangeOf(error.token, lastOfItem(error.token)));
    if (const std::string record = recordAround(); !record.empty())
      return help("write `" + text + " { ... }` in place of `" + record +
                  " { ... }`, with the fields that differ");
    const size_t head = headType();
    if (head == TokenType::RECIPE || head == TokenType::MIXIN ||
        head == TokenType::ABSTRACT)
      return help("settings that recipes share stand in a mixin: declare "
                  "`mixin " +
                  text + " { ... }` and write `with " + text +
                  "` before the `{` of the recipe");
    return help("write `" + text + " { ... }` with the fields that differ");
  }

  /// The amended value of the braces around the error: `llama.llama` in
  /// `model = llama.llama {`. Empty if the innermost braces do not amend a
  /// value.
  std::string recordAround() const {
    size_t brace = error.token;
    int depth = 0;
    while (brace > 0) {
      --brace;
      depth += type(brace) == TokenType::CLOSE;
      if (type(brace) == TokenType::OPEN && depth-- == 0)
        break;
    }
    size_t first = brace;
    while (first > 0 &&
           (isName(type(first - 1)) || type(first - 1) == TokenType::DOT))
      --first;
    const bool isValue = first > 0 && type(first - 1) == TokenType::ASSIGN;
    return isValue && first < brace ? textOf(first, brace - 1) : "";
  }

  /// `let width: int = 64`
  bool typedLet() const {
    if (error.rule != Grammar::RuleLet || found() != TokenType::COLON)
      return false;
    const size_t last = lastOfItem(error.token);
    size_t sign = error.token;
    while (sign < last && type(sign) != TokenType::ASSIGN)
      ++sign;
    const std::string name = textOf(error.token - 1);
    if (sign == error.token + 1 && type(sign) == TokenType::ASSIGN) {
      reword("a value is named with `=`, not with `:=`",
             rangeOf(error.token, sign));
      return fix("write `let " + name + " " + textOf(sign, last) + "`",
                 list.range(error.token), "");
    }
    if (type(sign) != TokenType::ASSIGN) {
      reword("a `let` names a value, and has no type");
      return help("write `let " + name + " = value`");
    }
    reword("a `let` has no type: it has that of its value",
           rangeOf(error.token, sign - 1));
    return fix(
        "write `let " + name + " " + textOf(sign, last) + "`",
        {list.source, list.tokens[error.token].begin, list.tokens[sign].begin},
        isBehindSpace(error.token) ? "" : " ");
  }

  /// `let mut x = 1`, `let const x = 1`
  bool mutableLet() const {
    const std::string word = textOf(error.token - 1);
    const bool isModifier = word == "mut" || word == "const" || word == "rec" ||
                            word == "var" || word == "static";
    if (error.rule != Grammar::RuleLet || !isModifier || !isName(found()))
      return false;
    reword("values never change, so `let` has no `" + word + "`",
           list.range(error.token - 1));
    const size_t last = lastOfItem(error.token);
    size_t sign = error.token;
    while (sign < last && type(sign) != TokenType::ASSIGN)
      ++sign;
    const std::string own = textOf(error.token) + " " + textOf(sign, last);
    return fix("leave it out: write `let " + own + "`",
               rangeOf(error.token - 1, last), own);
  }

  /// A statement of other languages that begins with a word: `while x {`.
  bool keyword() const {
    if (error.rule != Grammar::RuleSetting || error.begin + 1 != error.token)
      return false;
    struct Statement {
      std::string_view word, message, help;
    };
    static constexpr Statement statements[] = {
        {"while", "there is no `while`: every repetition ends",
         "a repetition is written `for i in 0..n { ... }`"},
        {"loop", "there is no `loop`: every repetition ends",
         "a repetition is written `for i in 0..n { ... }`"},
        {"repeat", "a repetition begins with `for`",
         "write `for i in 0..n { ... }`"},
        {"foreach", "a repetition begins with `for`",
         "a repetition is written `for x in xs { ... }`"},
        {"switch", "there is no `switch`",
         "choose with `if a { ... } else if b { ... } else { ... }`, or a "
         "value with `if a then x else if b then y else z`"},
        {"match", "there is no `match`",
         "choose with `if a { ... } else if b { ... } else { ... }`, or a "
         "value with `if a then x else if b then y else z`"},
        {"when", "there is no `when`",
         "choose with `if condition { ... } else { ... }`, or a value with "
         "`if condition then a else b`"},
        {"unless", "there is no `unless`", "write `if not $`"},
        {"assert", "a condition is stated with `require`, not with `assert`",
         "write `require $ : \"message\"`, beside the fields of a model, "
         "schema "
         "or recipe"},
        {"print", "nothing is printed by a recipe",
         "leave it out; `recipec explain FILE PATH` prints a value"},
        {"echo", "nothing is printed by a recipe",
         "leave it out; `recipec explain FILE PATH` prints a value"},
        {"super", "a block has no parent to call", "leave it out"},
        {"del", "values are not deleted", "leave it out"},
        {"try", "there is no `try`: an error ends the compilation",
         "write the statements without it"},
        {"raise", "an error is stated as a condition",
         "write `require condition : \"message\"`"},
        {"throw", "an error is stated as a condition",
         "write `require condition : \"message\"`"},
    };
    const std::string word = textOf(error.begin);
    for (const Statement& each : statements)
      if (each.word == word && found() != TokenType::ASSIGN &&
          found() != TokenType::COLON && found() != TokenType::SEPARATOR) {
        reword(std::string(each.message), list.range(error.begin));
        return help(withRest(each.help));
      }
    return false;
  }

  /// A help in which `$` is replaced by the text after the statement's word.
  std::string withRest(std::string_view help) const {
    std::string text(help);
    const size_t at = text.find('$');
    if (at == text.npos)
      return text;
    size_t last = lastOfItem(error.token);
    for (size_t brace = error.token; brace <= last; ++brace)
      if (type(brace) == TokenType::OPEN && brace > error.token)
        last = brace - 1;
    const std::string rest = textOf(error.token, last);
    return text.replace(at, 1,
                        rest.empty() || rest.find('\n') != rest.npos
                            ? std::string("condition")
                            : rest);
  }

  /// Whether the erring item, which ends at the error, is followed by `}`.
  bool isLastOfBody() const {
    size_t at = error.token;
    while (type(at) == TokenType::SEPARATOR)
      ++at;
    return type(at) == TokenType::CLOSE;
  }

  /// `x` or `x + y` alone as the last item of a block or function.
  bool forgottenReturn() const {
    const bool isName = isEndOfItem(error.token) && isLastOfBody();
    if (error.rule != Grammar::RuleSetting ||
        !(isBinaryOperator(found()) || isName) || !isInFunction() ||
        next() == TokenType::ASSIGN)
      return false;
    size_t last = error.token - isName;
    while (!isEndOfItem(last + 1))
      ++last;
    const uint32_t begin = list.tokens[error.begin].begin;
    return fix("a block or function ends in `return`: write `return " +
                   std::string(sources.text(rangeOf(error.begin, last))) + "`",
               {list.source, begin, begin}, "return ");
  }

  /// `steps += 4`; in a block, where names may be bound again, `x += y`.
  bool assignment() const {
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
    reword("names are bound with `=`: there is no `" +
               textOf(error.token, error.token + 1) + "`",
           rangeOf(error.token, error.token + 1));
    std::string name = textOf(error.begin, error.token - 1);
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

  /// `if n == 1 then 8 elif n == 2 then 16 else 32`, which ends at the second
  /// `then`
  bool elseIf() const {
    for (size_t at = firstOfItem(); at <= error.token; ++at) {
      const std::string word = textOf(at);
      if (type(at) != TokenType::IDENTIFIER ||
          (word != "elif" && word != "elsif" && word != "elseif"))
        continue;
      reword("`" + word + "` is written in two words", list.range(at));
      return help("write `else if`");
    }
    return false;
  }

  /// `outs.append(y)`
  bool mutation() const {
    if (error.rule != Grammar::RuleSetting || found() != TokenType::LPAREN ||
        type(error.token - 2) != TokenType::DOT)
      return false;
    const std::string method = textOf(error.token - 1);
    const std::string value = textOf(error.begin, error.token - 3);
    const size_t close = lastOfItem(error.token);
    const std::string given = textOf(error.token + 1, close - 1);
    const bool isElement =
        method == "append" || method == "push" || method == "add";
    const bool isList = method == "extend" || method == "concat";
    if ((!isElement && !isList) || type(close) != TokenType::RPAREN ||
        given.empty())
      return false;
    reword("a list does not change: a longer one is made of it",
           rangeOf(error.begin, close));
    const std::string own =
        value + " = " + value + " + " + (isElement ? "[" + given + "]" : given);
    return help("write `" + own + "`");
  }

  /// `ceil(x)`, `ceil(x) * 2` alone in a function: at its end it is the result.
  bool callAsItem() const {
    if (error.rule != Grammar::RuleSetting || found() != TokenType::LPAREN ||
        headType() != TokenType::FUN)
      return false;
    const size_t last = lastOfItem(error.token);
    const std::string call = textOf(error.begin, last);
    const uint32_t begin = list.tokens[error.begin].begin;
    size_t behind = last + 1;
    while (type(behind) == TokenType::SEPARATOR)
      ++behind;
    if (call.find('\n') != call.npos)
      return false;
    if (type(behind) == TokenType::CLOSE) {
      reword("a function ends in `return`, and this is a value alone",
             rangeOf(error.begin, last));
      return fix("write `return " + call + "`", {list.source, begin, begin},
                 "return ");
    }
    reword("a function holds `let` and `return`, and this is a value alone",
           rangeOf(error.begin, last));
    return help("name it: write `let name = " + call + "`");
  }

  /// `def forward(self, x):` in a model
  bool method() const {
    if (isOfFile() || error.token == 0 || textOf(error.token - 1) != "def" ||
        found() != TokenType::IDENTIFIER)
      return false;
    return help("a block is declared `block " + textOf(error.token) +
                "(x) { ... }`, a function `fun " + textOf(error.token) +
                "(x: int): int = ...`");
  }
};

} // namespace

bool helpWithForeignStatements(const SourceMap& sources, const TokenList& list,
                               const SyntaxError& error,
                               diag::Builder& report) {
  return ForeignStatements(sources, list, error, report).run();
}

} // namespace recipec::parse
