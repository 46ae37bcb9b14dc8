// Help for operators, comments and numbers of Python, C and other languages.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>

namespace recipec::parse {
namespace {

class ForeignOperators : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return doubleColon() || dashComment() || arrowAssignment() || rangeForm() ||
           comparison() || negation() || slice() || twoCommas() ||
           emptyHole() || format() || merge() || ternary() || wholeDivision() ||
           comment() || equality() || doubleSign() || tuple() ||
           fieldsInBrackets() || orSign() || prefix() || fatArrow() ||
           unequal() || wordOperator() || severalIndices() || heredoc() ||
           callWithout();
  }

private:
  /// `llama::llama`
  bool doubleColon() const {
    if (found() != TokenType::COLON || next() != TokenType::COLON ||
        !areAdjacent(error.token) || !isName(previous()) || !isName(next(2)))
      return false;
    reword("the names of a file stand behind `.`, not behind `::`",
           rangeOf(error.token, error.token + 1));
    return fix("write `" + textOf(error.token - 1) + "." +
                   textOf(error.token + 2) + "`",
               rangeOf(error.token, error.token + 1), ".");
  }

  /// `-- text`
  bool dashComment() const {
    if (!isAtItem() && !isOfFile())
      return false;
    return found() == TokenType::MINUS && next() == TokenType::MINUS &&
           areAdjacent(error.token) && !beginsNothing(error.token + 2) &&
           fix("comments begin with `#`", rangeOf(error.token, error.token + 1),
               "#");
  }
  /// Whether the line ends at a token, as behind the `---` of YAML.
  bool beginsNothing(size_t token) const {
    return isEndOfItem(token) || type(token) == TokenType::MINUS;
  }

  /// `global <- 4`
  bool arrowAssignment() const {
    const bool isArrow =
        found() == TokenType::LESS && next() == TokenType::MINUS &&
        areAdjacent(error.token) && error.rule == Grammar::RuleSetting;
    if (!isArrow)
      return false;
    reword("a value is set with `=`, not with `<-`",
           rangeOf(error.token, error.token + 1));
    return fix("write `" + textOf(error.begin, error.token - 1) + " = " +
                   textOf(error.token + 2) + "`",
               rangeOf(error.token, error.token + 1), "=");
  }

  /// `0...4`, `0..=4`
  bool rangeForm() const {
    if (previous() != TokenType::RANGE || !areAdjacent(error.token - 1))
      return false;
    const std::string first = textOf(error.token - 2);
    std::string last = textOf(error.token + 1);
    if (found() == TokenType::DOT) {
      reword("a range is written with two dots",
             rangeOf(error.token - 1, error.token));
      return fix("write `" + first + ".." + last + "`", list.range(error.token),
                 "");
    }
    if (found() != TokenType::ASSIGN)
      return false;
    reword("a range ends before its end, and has no `..=`",
           rangeOf(error.token - 1, error.token));
    const bool isNumeral = !last.empty() && last.size() < 9 &&
                           last.find_first_not_of("0123456789") == last.npos;
    last = isNumeral ? std::to_string(std::stoi(last) + 1) : last + " + 1";
    return fix("write `" + first + ".." + last + "`",
               rangeOf(error.token, error.token + (next() != TokenType::EOF)),
               last);
  }

  /// `a === b`, `a !== b`, and `=` in a condition
  bool comparison() const {
    if (found() != TokenType::ASSIGN)
      return false;
    const bool isTriple = (previous() == TokenType::EQUAL ||
                           previous() == TokenType::NOT_EQUAL) &&
                          areAdjacent(error.token - 1);
    if (isTriple) {
      const std::string own = textOf(error.token - 1);
      reword("values are compared by `" + own + "`, not by `" + own + "=`",
             rangeOf(error.token - 1, error.token));
      return fix("write `" + own + "`", list.range(error.token), "");
    }
    if (!isInCondition() && !isSecondSign())
      return false;
    reword("values are compared by `==`, not by `=`");
    return fix(
        "write `" + textOf(firstOfPath(error.token - 1), error.token - 1) +
            " == " + textOf(error.token + 1, lastOfPath(error.token + 1)) + "`",
        list.range(error.token), "==");
  }
  /// Whether a `let` already has an `=` before the error: `let same = a = b`.
  bool isSecondSign() const {
    const size_t first = firstOfItem();
    if (type(first) != TokenType::LET || !isOperand(error.token - 1))
      return false;
    for (size_t at = first; at < error.token; ++at)
      if (type(at) == TokenType::ASSIGN)
        return true;
    return false;
  }
  /// Whether the error is in the condition of `require`, of an `if` statement
  /// or comprehension, or of `if a then b else c`.
  bool isInCondition() const {
    for (size_t at = error.token; at > 0; --at) {
      const size_t kind = type(at - 1);
      if (kind == TokenType::IF || kind == TokenType::REQUIRE)
        return true;
      if (isEndOfItem(at - 1) || kind == TokenType::THEN ||
          kind == TokenType::ELSE || kind == TokenType::ASSIGN ||
          kind == TokenType::COLON || kind == TokenType::OPEN ||
          kind == TokenType::BLOCK_OPEN)
        return false;
    }
    return false;
  }
  /// `parallel = [tp = 4, pp = 2]`
  bool fieldsInBrackets() const {
    if (found() != TokenType::ASSIGN || error.rule != Grammar::RuleList ||
        type(error.begin) != TokenType::LBRACKET || !isName(previous()))
      return false;
    const int depth = list.tokens[error.begin].depth;
    size_t close = error.token;
    while (close < list.tokens.size() && list.tokens[close].depth > depth)
      ++close;
    if (type(close) != TokenType::RBRACKET)
      return false;
    const std::string fields = "{ " + textOf(error.begin + 1, close - 1) + " }";
    const bool isSetting = error.begin >= 2 &&
                           type(error.begin - 1) == TokenType::ASSIGN &&
                           isName(type(error.begin - 2));
    const size_t first = error.begin - (isSetting ? 2 : 0);
    const std::string own =
        (isSetting ? textOf(first) + " " : std::string()) + fields;
    reword("fields stand in braces, not in brackets",
           rangeOf(error.begin, close));
    return fields.find('\n') == fields.npos &&
           fix("write `" + own + "`", rangeOf(first, close), own);
  }

  /// `(0.9, 0.95)`
  bool tuple() const {
    if (!isComma(error.token) || error.rule != Grammar::RulePrimary ||
        type(error.begin) != TokenType::LPAREN)
      return false;
    const int depth = list.tokens[error.begin].depth;
    size_t close = error.token;
    while (close < list.tokens.size() && list.tokens[close].depth > depth)
      ++close;
    const std::string inner = textOf(error.begin + 1, close - 1);
    if (type(close) != TokenType::RPAREN || inner.find('\n') != inner.npos)
      return false;
    const std::string own =
        "[" + inner.substr(0, inner.find_last_not_of(", ") + 1) + "]";
    reword("a list is written with brackets, not as a tuple",
           rangeOf(error.begin, close));
    return fix("write `" + own + "`", rangeOf(error.begin, close), own);
  }

  /// `x not in xs`, `x is not none`
  bool negation() const {
    if (found() != TokenType::NOT)
      return false;
    if (previous() == TokenType::IS) {
      reword("`is` tests a type; values are compared by `!=`",
             rangeOf(error.token - 1, error.token));
      std::string value = textOf(error.token + 1);
      value = value == "None" || value == "null" ? "none" : value;
      return fix(
          "write `!= " + value + "`",
          rangeOf(error.token - 1, error.token + !isEndOfItem(error.token + 1)),
          "!= " + value);
    }
    if (next() != TokenType::IN || error.token == 0)
      return false;
    const int depth = list.tokens[error.token].depth;
    auto isEnd = [&](size_t at) {
      const size_t kind = type(at);
      return list.tokens[at].depth < depth || isEndOfItem(at) ||
             kind == TokenType::AND || kind == TokenType::OR ||
             kind == TokenType::REQUIRE || kind == TokenType::IF ||
             kind == TokenType::ASSIGN || kind == TokenType::COMMA ||
             kind == TokenType::COLON || kind == TokenType::THEN ||
             kind == TokenType::NOT || kind == TokenType::RETURN ||
             kind == TokenType::OPEN || kind == TokenType::BLOCK_OPEN;
    };
    auto isEndAt = [&](size_t at) {
      return at >= list.tokens.size() ||
             (list.tokens[at].depth <= depth && isEnd(at));
    };
    size_t first = error.token, last = error.token + 1;
    while (first > 0 && !isEndAt(first - 1))
      --first;
    while (!isEndAt(last + 1))
      ++last;
    if (first == error.token || last == error.token + 1)
      return false;
    const std::string own = "not (" + textOf(first, error.token - 1) + " in " +
                            textOf(error.token + 2, last) + ")";
    reword("`not` stands before the comparison",
           rangeOf(error.token, error.token + 1));
    return fix("write `" + own + "`", rangeOf(first, last), own);
  }

  /// `xs[0:2]`, `xs[1:]`
  bool slice() const {
    if (found() != TokenType::COLON || error.rule != Grammar::RuleSuffix ||
        type(error.begin) != TokenType::LBRACKET)
      return false;
    reword("a part of a list is taken by a range, not by `:`");
    const bool isOpenEnded = next() == TokenType::RBRACKET;
    const std::string name = isName(type(error.begin - 1))
                                 ? textOf(error.begin - 1)
                                 : std::string("xs");
    const std::string end = isOpenEnded ? "len(" + name + ")" : "";
    return fix("write `" + name + "[" +
                   textOf(error.begin + 1, error.token - 1) + ".." +
                   (isOpenEnded ? end : textOf(error.token + 1)) + "]`",
               list.range(error.token), ".." + end);
  }

  /// `[1, 2,, 3]`
  bool twoCommas() const {
    return found() == TokenType::COMMA && previous() == TokenType::COMMA &&
           fix("one comma is enough", list.range(error.token), "");
  }

  /// `"{}".format(n)`: an interpolation without a value.
  bool emptyHole() const {
    if (!isInterpolation() || found() != TokenType::EOF || error.token > 0)
      return false;
    reword("an interpolation holds a value, and this one is empty");
    return help("write the value between the braces, as in `\"{name}\"`; "
                "braces of the text are written `\\{\\}`");
  }

  /// `"${HOME:-/tmp}"`, `"${oc.env:HOME}"`
  bool variable() const {
    const SourceRange inner = rangeOf(0, list.tokens.size() - 2);
    const std::string_view text = sources.text(list.source);
    const std::string value = textOf(0, error.token - 1);
    const bool isVariable =
        value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
            value.npos ||
        value == "oc.env" || value == "env";
    if (inner.begin < 2 || text.substr(inner.begin - 2, 2) != "${" ||
        !isVariable)
      return false;
    reword("a recipe does not read variables of the environment such as `${" +
               std::string(sources.text(inner)) + "}`",
           inner);
    return help("write its value, or give the setting on the command line, "
                "`--set 'PATH=\"...\"'`");
  }

  /// `"{n:03d}"`, `"{n=}"`
  bool format() const {
    if (!isInterpolation() || error.token == 0 ||
        (found() != TokenType::COLON && found() != TokenType::ASSIGN))
      return false;
    if (variable())
      return true;
    const std::string value = textOf(0, error.token - 1);
    const std::string spec = textOf(error.token + 1, list.tokens.size() - 2);
    if (found() == TokenType::COLON && !isFormat(spec))
      return braces();
    reword("an interpolation holds a value alone, without a format",
           rangeOf(error.token, list.tokens.size() - 2));
    size_t width = 0;
    for (char letter : spec)
      if (letter >= '0' && letter <= '9' && width < 100)
        width = width * 10 + size_t(letter - '0');
    const bool isPadding = width > 0 && spec.size() > 1 && spec[0] == '0' &&
                           spec.find('.') == spec.npos;
    const std::string own =
        isPadding ? "pad(" + value + ", " + std::to_string(width) + ")" : value;
    return fix("write `{" + own + "}`", rangeOf(0, list.tokens.size() - 2), own,
               Applicability::maybe);
  }

  /// Whether the text behind a `:` is a format of Python, `.2f` or `03d`.
  bool isFormat(const std::string& spec) const {
    return !isBehindSpace(error.token + 1) && !spec.empty() &&
           spec.find_first_not_of("<>^=+-#,._%0123456789bcdeEfFgGnosxX") ==
               spec.npos;
  }

  /// `"Answer as {city: name}."`: braces of the text, such as those of JSON.
  bool braces() const {
    const SourceRange inner = rangeOf(0, list.tokens.size() - 2);
    const std::string_view text = sources.text(list.source);
    const size_t end = text.find_first_of("}\n", inner.end);
    if (inner.begin == 0 || text[inner.begin - 1] != '{' || end == text.npos ||
        text[end] != '}')
      return false;
    reword("`{` in a string begins an interpolation, and `" +
               textOf(0, list.tokens.size() - 2) + "` is no value",
           inner);
    std::string own = "\\{";
    for (char c : text.substr(inner.begin, end - inner.begin))
      own += c == '"' ? "\\\"" : std::string(1, c);
    own += "\\}";
    return fix("write the braces of a text as `" + own + "`",
               {list.source, inner.begin - 1, uint32_t(end + 1)}, own,
               Applicability::maybe);
  }

  /// `a // { b = 2 }`, `a | { b = 2 }`, `a & { b = 2 }`
  bool merge() const {
    if (next() != TokenType::OPEN || error.token < 2)
      return false;
    const bool isSlashes = found() == TokenType::SLASH &&
                           previous() == TokenType::SLASH &&
                           areAdjacent(error.token - 1);
    if (!isSlashes && found() != TokenType::PIPE)
      return false;
    const size_t first = error.token - isSlashes;
    if (first == 0 || !isName(type(first - 1)))
      return false;
    const std::string sign = textOf(first, error.token);
    reword("records and maps are amended by braces alone, without `" + sign +
               "`",
           rangeOf(first, error.token));
    return fix("write `" + textOf(first - 1) + " { ... }`",
               {list.source, list.tokens[first].begin,
                list.tokens[error.token + 1].begin},
               "");
  }

  /// `a if c else b`
  bool ternary() const {
    if (found() != TokenType::IF || error.token == 0 || isOfFile() ||
        isBinaryOperator(previous()))
      return false;
    const int depth = list.tokens[error.token].depth;
    auto isEnd = [&](size_t at) {
      if (at >= list.tokens.size() || list.tokens[at].depth < depth)
        return true;
      return list.tokens[at].depth == depth &&
             (isComma(at) || isEndOfItem(at) || type(at) == TokenType::FOR ||
              type(at) == TokenType::ASSIGN || type(at) == TokenType::RETURN ||
              type(at) == TokenType::LET || type(at) == TokenType::COLON);
    };
    size_t first = error.token, otherwise = error.token + 1;
    while (first > 0 && !isEnd(first - 1))
      --first;
    while (!isEnd(otherwise) && !(type(otherwise) == TokenType::ELSE &&
                                  list.tokens[otherwise].depth == depth))
      ++otherwise;
    if (type(otherwise) != TokenType::ELSE || first == error.token ||
        type(first) == TokenType::IF || otherwise == error.token + 1 ||
        isEnd(otherwise + 1))
      return false;
    size_t last = otherwise + 1;
    while (!isEnd(last + 1) &&
           !(isClosing(type(last + 1)) && list.tokens[last + 1].depth < depth))
      ++last;
    const std::string own = "if " + textOf(error.token + 1, otherwise - 1) +
                            " then " + textOf(first, error.token - 1) +
                            " else " + textOf(otherwise + 1, last);
    reword("the condition stands before both values: `if condition then a "
           "else b`");
    return fix("write `" + own + "`", rangeOf(first, last), own);
  }
  static bool isClosing(size_t type) {
    return type == TokenType::CLOSE || type == TokenType::RPAREN ||
           type == TokenType::RBRACKET;
  }

  /// Whether `//` divides two values, `a // b`, and does not begin a comment.
  bool wholeDivision() const {
    const size_t first = error.token - 1;
    const bool isOperand = isName(next()) || next() == TokenType::INTEGER;
    if (previous() != TokenType::SLASH || found() != TokenType::SLASH ||
        !areAdjacent(first) || !isOperand || !isEndOfItem(error.token + 2))
      return false;
    const std::string note = "; a comment begins with `#`";
    // In `a * b // c` the left operand is the whole product.
    const bool isWhole =
        first >= 2 && (isComma(first - 2) || isEndOfItem(first - 1) ||
                       type(first - 2) == TokenType::ASSIGN);
    if (!isWhole)
      return help("a division rounded down is `floor(a / b)`" + note);
    const std::string own =
        "floor(" + textOf(first - 1) + " / " + textOf(error.token + 1) + ")";
    return fix("write `" + own + "`" + note,
               rangeOf(first - 1, error.token + 1), own, Applicability::maybe);
  }

  /// `// text`, `/* text */`
  bool comment() const {
    if (found() == TokenType::SLASH && next() == TokenType::STAR)
      return help("comments begin with `#`");
    // After a value the parser reads the first one as a division.
    size_t first = error.token - (previous() == TokenType::SLASH);
    return found() == TokenType::SLASH && type(first + 1) == TokenType::SLASH &&
           areAdjacent(first) &&
           fix("comments begin with `#`", rangeOf(first, first + 1), "#");
  }

  /// `tp == 4`
  bool equality() const {
    return error.rule == Grammar::RuleSetting && found() == TokenType::EQUAL &&
           fix("`==` compares; set a value with `=`", list.range(error.token),
               "=");
  }

  /// `tp := 4`
  bool doubleSign() const {
    return found() == TokenType::ASSIGN && previous() == TokenType::COLON &&
           fix("set a value with `=` alone",
               rangeOf(error.token - 1, error.token), "=");
  }

  /// `a || b`
  bool orSign() const {
    return found() == TokenType::PIPE && next() == TokenType::PIPE &&
           fix("write `or`", rangeOf(error.token, error.token + 1), "or");
  }

  /// `f"runs/{name}"`, `r"..."`
  bool prefix() const {
    bool isString = found() == TokenType::STRING || found() == TokenType::TEXT;
    if (!isString || previous() != TokenType::IDENTIFIER ||
        !areAdjacent(error.token - 1))
      return false;
    std::string letter = textOf(error.token - 1);
    reword("a string has no prefix, here `" + letter + "`",
           list.range(error.token - 1));
    if (letter == "f" || letter == "u" || letter == "b")
      return fix("remove the `" + letter +
                     "`: `{name}` in any string is the value of one",
                 list.range(error.token - 1), "");
    return fix("remove the `" + letter + "`; a backslash of the text is `\\\\`",
               list.range(error.token - 1), "", Applicability::maybe);
  }

  /// `hidden => vocab`
  bool fatArrow() const {
    return !isAtItem() && found() == TokenType::GREATER &&
           previous() == TokenType::ASSIGN && areAdjacent(error.token - 1) &&
           fix("dimensions are mapped by `->`",
               rangeOf(error.token - 1, error.token), "->");
  }

  /// `a <> b`
  bool unequal() const {
    return found() == TokenType::GREATER && previous() == TokenType::LESS &&
           areAdjacent(error.token - 1) &&
           fix("write `!=`", rangeOf(error.token - 1, error.token), "!=");
  }

  /// `a mod b`, `a xor b`, `x as float`
  bool wordOperator() const {
    if (error.token == 0 || isEndOfItem(error.token + 1) ||
        next() == TokenType::ASSIGN)
      return false;
    const std::string text =
        wordOperatorHelp(textOf(firstOfPath(error.token - 1), error.token - 1),
                         textOf(error.token),
                         textOf(error.token + 1, lastOfPath(error.token + 1)));
    if (text.empty())
      return false;
    reword("there is no operator `" + textOf(error.token) + "`");
    return help(text);
  }

  /// `rows[0, 1]`
  bool severalIndices() const {
    if (!isComma(error.token) || error.rule != Grammar::RuleSuffix ||
        type(error.begin) != TokenType::LBRACKET)
      return false;
    reword("an element is named by one number");
    return fix("write `[" + textOf(error.begin + 1, error.token - 1) + "][" +
                   textOf(error.token + 1) + "]`",
               list.range(error.token), "][");
  }

  /// `<<EOF`
  bool heredoc() const {
    return found() == TokenType::LESS && next() == TokenType::LESS &&
           areAdjacent(error.token) && isName(next(2)) &&
           help(
               "a text of several lines is written `\"\"\"`, the lines below "
               "it, each indented like the last, and `\"\"\"` on a line of its "
               "own");
  }

  /// `length 3`, a call without parentheses
  bool callWithout() const {
    const bool isArgument = isOperand(error.token) ||
                            found() == TokenType::FLOAT ||
                            found() == TokenType::STRING;
    const size_t before =
        error.token < 2 ? size_t(TokenType::EOF) : previous(2);
    if (!isArgument || isUnitName(textOf(error.token)) ||
        previous() != TokenType::IDENTIFIER || !isEndOfItem(error.token + 1) ||
        isInterpolation() ||
        (before != TokenType::ASSIGN && before != TokenType::RETURN))
      return false;
    return help("write `" + textOf(error.token - 1) + "(" +
                textOf(error.token) +
                ")` for a call, or put a line break between two items");
  }
};

} // namespace

bool helpWithForeignOperators(const SourceMap& sources, const TokenList& list,
                              const SyntaxError& error, diag::Builder& report) {
  return ForeignOperators(sources, list, error, report).run();
}

std::string wordOperatorHelp(const std::string& left, std::string_view word,
                             const std::string& right) {
  static constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"mod", "%"},    {"xor", "!="},        {"eq", "=="},
      {"ne", "!="},    {"lt", "<"},          {"gt", ">"},
      {"le", "<="},    {"ge", ">="},         {"to", ".."},
      {"until", ".."}, {"isinstance", "is"}, {"instanceof", "is"},
      {"plus", "+"},   {"minus", "-"},       {"times", "*"},
  };
  for (const auto& [foreign, own] : signs)
    if (foreign == word)
      return "write `" + left + (own == ".." ? "" : " ") + std::string(own) +
             (own == ".." ? "" : " ") + right + "`";
  if (word == "div")
    return "write `floor(" + left + " / " + right + ")`";
  if (word == "as")
    return right == "int"     ? "write `int(" + left + ")`"
           : right == "float" ? "write `float(" + left + ")`"
                              : "write `str(" + left + ")` for a string";
  if (word == "where")
    return "name the value on a line before: `let " + right + " = ...`";
  if (word == "when" || word == "unless")
    return "write `if " + std::string(word == "when" ? "" : "not ") + right +
           " then " + left + " else ...`";
  return {};
}

} // namespace recipec::parse
