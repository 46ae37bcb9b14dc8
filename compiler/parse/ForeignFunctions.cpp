// Help for functions and blocks in the syntax of other languages.
//
//   1. Find the word, `def` or `fn`, and the name and parameters behind it.
//   2. Translate the parameters: drop `self`, replace foreign types by ours,
//      keep defaults.
//   3. A body with a single value becomes `= value`; others keep their braces.
//   4. In a model the definition becomes a block, whose parameters have no
//      types.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>
#include <iterator>

namespace recipec::parse {
namespace {

constexpr std::string_view definers[] = {"def",  "fn",     "func",   "function",
                                         "proc", "lambda", "method", "sub"};

class ForeignFunctions : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return generator() || typedParameter() || anonymous() || definition() ||
           resultArrow() || bodyArrow() || suiteColon() || bodyColon();
  }

private:
  /// `max(2 * d for d in dims)`
  bool generator() const {
    if (found() != TokenType::FOR || error.rule != Grammar::RuleSuffix ||
        type(error.begin) != TokenType::LPAREN)
      return false;
    const int depth = list.tokens[error.token].depth;
    size_t first = error.token, last = error.token;
    while (first > error.begin + 1 &&
           !(isComma(first - 1) && list.tokens[first - 1].depth == depth))
      --first;
    while (last + 1 < list.tokens.size() &&
           list.tokens[last + 1].depth >= depth && !isEndOfItem(last + 1) &&
           !(isComma(last + 1) && list.tokens[last + 1].depth == depth))
      ++last;
    reword("a list is built between brackets", rangeOf(first, last));
    const std::string own = "[" + textOf(first, last) + "]";
    return fix("write `" + own + "`", rangeOf(first, last), own);
  }

  static bool isDefiner(std::string_view word) {
    return std::count(std::begin(definers), std::end(definers), word) > 0;
  }

  /// `for i in range(n):`, `if wide:` with an indented body
  bool suiteColon() const {
    const bool isLoop = error.rule == Grammar::RuleForStatement;
    if ((!isLoop && error.rule != Grammar::RuleIfStatement) ||
        found() != TokenType::COLON || error.begin >= error.token)
      return false;
    std::string head = textOf(error.begin, error.token - 1);
    // `range(n)` of one argument begins at 0.
    constexpr std::string_view call = " in range(";
    const size_t at = head.find(call);
    if (isLoop && at != head.npos && head.ends_with(')') &&
        head.find(',', at) == head.npos) {
      head.erase(head.size() - 1);
      head.replace(at, call.size(), " in 0..");
    }
    reword("the statements of a `" + textOf(error.begin) +
           "` stand in braces, not behind `:`");
    return help("write `" + head + " {`, and a `}` behind the last of them");
  }

  /// The closing bracket for an opening one; nullopt if there is none.
  std::optional<size_t> closing(size_t open) const {
    const int depth = list.tokens[open].depth;
    for (size_t i = open + 1; i < list.tokens.size(); ++i)
      if (list.tokens[i].depth == depth)
        return i;
    return std::nullopt;
  }

  /// One parameter, from its first to its last token: `x: i32 = 3`, `int x`.
  std::string parameter(size_t first, size_t last, bool isBlock) const {
    const int depth = list.tokens[first].depth;
    auto find = [&](size_t wanted) {
      size_t at = first;
      while (at <= last &&
             !(type(at) == wanted && list.tokens[at].depth == depth))
        ++at;
      return at;
    };
    const size_t assign = find(TokenType::ASSIGN);
    const size_t colon = find(TokenType::COLON);
    std::string name = textOf(first), kind = textOf(colon + 1);
    if (type(first + 1) == TokenType::IDENTIFIER && first + 1 <= last) {
      const bool isTypeFirst = !ownTypeOf(name).empty();
      kind = textOf(isTypeFirst ? first : first + 1);
      name = textOf(isTypeFirst ? first + 1 : first);
    } else if (colon > last || colon + 1 > last) {
      kind.clear();
    }
    std::string text = isReservedWord(type(first)) ? name + "_" : name;
    if (!isBlock && !ownTypeOf(kind).empty())
      text += ": " + std::string(ownTypeOf(kind));
    if (assign < last)
      text += " = " + textOf(assign + 1, last);
    return text;
  }

  std::string parameters(size_t open, size_t close, bool isBlock) const {
    std::string result;
    for (size_t first = open + 1; first < close;) {
      size_t last = first;
      while (last + 1 < close &&
             !(isComma(last + 1) &&
               list.tokens[last + 1].depth == list.tokens[first].depth))
        ++last;
      const bool isParameter =
          isName(type(first)) || isReservedWord(type(first));
      if (textOf(first) != "self" && isParameter)
        result +=
            (result.empty() ? "" : ", ") + parameter(first, last, isBlock);
      first = last + 2;
    }
    return result;
  }

  /// The first parameter whose name is a reserved word; empty if there is none.
  std::string reservedParameter(size_t open, size_t close) const {
    for (size_t i = open + 1; i < close; ++i)
      if (isReservedWord(type(i)) &&
          (i == open + 1 || type(i - 1) == TokenType::COMMA))
        return textOf(i);
    return {};
  }

  /// The single value of a body between two tokens; empty for several
  /// statements.
  std::string onlyValue(size_t first, size_t last) const {
    if (type(first) == TokenType::RETURN)
      ++first;
    if (first > last || first >= list.tokens.size())
      return {};
    const int depth = list.tokens[first].depth;
    while (last > first && type(last) == TokenType::SEPARATOR)
      --last;
    for (size_t i = first; i <= last; ++i) {
      const bool isStatement =
          list.tokens[i].depth <= depth &&
          (type(i) == TokenType::SEPARATOR || type(i) == TokenType::ASSIGN ||
           type(i) == TokenType::RETURN || type(i) == TokenType::FOR ||
           type(i) == TokenType::LET || type(i) == TokenType::EOF);
      if (isStatement)
        return {};
    }
    const bool isStatement =
        type(first) == TokenType::IF &&
        textOf(first, last).find("then") == std::string::npos;
    std::string text = textOf(first, last);
    return isStatement || text.find('\n') != text.npos ? "" : text;
  }

  /// `def warm(n):`, `fn warm(n: i32) -> i32 {`, `function warm(n) {`,
  /// `let warm(n) = n`
  bool definition() const {
    // `let f(x) = ...` is an error at the parenthesis.
    const bool isLet =
        error.rule == Grammar::RuleLet && found() == TokenType::LPAREN;
    size_t word = isLet ? error.token - 2 : error.token;
    if (!isLet && !isDefiner(textOf(word)))
      --word;
    if (word >= list.tokens.size() || (!isLet && !isDefiner(textOf(word))) ||
        !isName(type(word + 1)) || type(word + 2) != TokenType::LPAREN)
      return false;
    if (word > 0 && !isEndOfItem(word - 1) &&
        type(word - 1) != TokenType::OPEN &&
        type(word - 1) != TokenType::BLOCK_OPEN)
      return false;
    auto close = closing(word + 2);
    if (!close || type(*close) != TokenType::RPAREN)
      return false;
    const bool isBlock = headType() == TokenType::MODEL;
    const std::string own = isBlock ? "block" : "fun";
    std::string head = own + " " + textOf(word + 1) + "(" +
                       parameters(word + 2, *close, isBlock) + ")";
    size_t at = *close + 1;
    std::string result;
    if (type(at) == TokenType::ARROW ||
        (type(at) == TokenType::COLON && isName(type(at + 1)) &&
         (type(at + 2) == TokenType::OPEN ||
          type(at + 2) == TokenType::ASSIGN))) {
      result = ownTypeOf(textOf(at + 1));
      ++at;
      while (type(at) != TokenType::COLON && type(at) != TokenType::OPEN &&
             type(at) != TokenType::ASSIGN && !isEndOfItem(at))
        ++at;
    }
    if (!isBlock && !result.empty())
      head += ": " + result;
    reword("a " + std::string(isBlock ? "block" : "function") +
               " is declared with `" + own + "`, not with `" + textOf(word) +
               "`",
           list.range(word));
    if (const std::string name = reservedParameter(word + 2, *close);
        !name.empty())
      return help("write `" + head + (isBlock ? " { ... }`" : " = ...`") +
                  " with `" + name + "_` for `" + name +
                  "`, which is a word of the language and cannot be a name");
    return body(word, at, head, isBlock);
  }

  bool body(size_t word, size_t at, const std::string& head,
            bool isBlock) const {
    if (type(at) == TokenType::OPEN) {
      auto end = closing(at);
      std::string value =
          end && !isBlock ? onlyValue(at + 1, *end - 1) : std::string();
      if (!value.empty())
        return fix("write `" + head + " = " + value + "`", rangeOf(word, *end),
                   head + " = " + value, Applicability::maybe);
      return fix("write `" + head + " {`", rangeOf(word, at), head + " {",
                 Applicability::maybe);
    }
    size_t first = at + 1, word0 = word;
    if (type(at) == TokenType::COLON && type(first) == TokenType::SEPARATOR &&
        type(first + 1) == TokenType::RETURN)
      word0 = ++first;
    if (type(at) == TokenType::ASSIGN && type(first) == TokenType::GREATER)
      ++first;
    const size_t last = lastOfItem(word0);
    std::string value =
        !isBlock && first <= last ? onlyValue(first, last) : std::string();
    if (!value.empty() && !hasStatementBehind(word, last))
      return fix("write `" + head + " = " + value + "`", rangeOf(word, last),
                 head + " = " + value, Applicability::maybe);
    return help("write `" + head + " { ... }`: the body stands in braces, " +
                (isBlock ? "binds names with `name = value`"
                         : "names values with `let name = value`") +
                " and ends in `return value`");
  }

  /// `lambda x: 2 * x`, `(x) => 2 * x`, `x => 2 * x`, `fun(x) = 2 * x` in place
  /// of a value.
  bool anonymous() const {
    const size_t at = error.token;
    std::string parameters, value;
    size_t first = at;
    if (textOf(at - 1) == "lambda" && at > 0) {
      first = at - 1;
      size_t colon = at;
      while (!isEndOfItem(colon) && type(colon) != TokenType::COLON)
        ++colon;
      if (type(colon) != TokenType::COLON)
        return false;
      parameters = colon > at ? textOf(at, colon - 1) : "";
      value = textOf(colon + 1, lastOfItem(at));
    } else if (found() == TokenType::ASSIGN && at > 0 &&
               next() == TokenType::GREATER && areAdjacent(at)) {
      first = at - 1;
      if (type(first) == TokenType::RPAREN)
        while (first > 0 && (type(first) != TokenType::LPAREN ||
                             list.tokens[first].depth != list.tokens[at].depth))
          --first;
      parameters = textOf(first, at - 1);
      if (parameters.starts_with("("))
        parameters = parameters.substr(1, parameters.size() - 2);
      value = textOf(at + 2, lastOfItem(at));
    } else if (found() == TokenType::FUN && next() == TokenType::LPAREN) {
      auto close = closing(at + 1);
      if (!close || *close < at + 2)
        return false;
      parameters = textOf(at + 2, *close - 1);
      size_t body = *close + 1;
      while (type(body) == TokenType::ASSIGN ||
             type(body) == TokenType::GREATER || type(body) == TokenType::COLON)
        ++body;
      value = textOf(body, lastOfItem(at));
    } else {
      return false;
    }
    reword("a function is declared with a name, and is no part of a value",
           rangeOf(first, lastOfItem(at)));
    // In brackets the value ends before their end.
    if (value.empty() || value.find_first_of("\n)],") != value.npos)
      value = "...";
    const size_t item = firstOfItem();
    const bool isLet = type(item) == TokenType::LET && isName(type(item + 1)) &&
                       type(item + 2) == TokenType::ASSIGN && item + 3 == first;
    const std::string name = isLet ? textOf(item + 1) : "f";
    const std::string own = "fun " + name + "(" + parameters + ") = " + value;
    if (isLet && value != "...")
      return fix("write `" + own + "`", rangeOf(item, lastOfItem(at)), own,
                 Applicability::maybe);
    return help("declare `" + own + "` and write `" + name + "` here");
  }

  /// `fun f(int n)`, `fun f(n int)`
  bool typedParameter() const {
    if (error.rule != Grammar::RuleParameters || !isName(found()) ||
        !isName(previous()))
      return false;
    std::string kind = textOf(error.token - 1), name = textOf(error.token);
    if (ownTypeOf(kind).empty())
      std::swap(kind, name);
    if (ownTypeOf(kind).empty())
      return false;
    const std::string own = name + ": " + std::string(ownTypeOf(kind));
    reword("the type of a parameter stands behind its name and a `:`",
           rangeOf(error.token - 1, error.token));
    return fix("write `" + own + "`", rangeOf(error.token - 1, error.token),
               own);
  }

  /// Whether the item after `last` is indented further than the definition, so
  /// that it belongs to a body of several lines.
  bool hasStatementBehind(size_t word, size_t last) const {
    if (type(last + 1) != TokenType::SEPARATOR ||
        last + 2 >= list.tokens.size())
      return false;
    auto columnOf = [&](size_t token) {
      return sources.lineColumn(list.source, list.tokens[token].begin).column;
    };
    return type(last + 2) != TokenType::EOF &&
           columnOf(last + 2) > columnOf(word);
  }

  bool isBehindParameters() const {
    return error.rule == Grammar::RuleFunction &&
           previous() == TokenType::RPAREN;
  }

  /// `fun f(x: int) -> int {`
  bool resultArrow() const {
    if (!isBehindParameters() || found() != TokenType::ARROW)
      return false;
    reword("the type of a result stands behind `:`, not behind `->`");
    const bool hasSpace = isBehindSpace(error.token);
    SourceRange range = list.range(error.token);
    if (hasSpace)
      range.begin = list.tokens[error.token - 1].end;
    return fix("write `:`", range, ":");
  }

  /// `fun f(x) => 2 * x`, `fun f(x) 2 * x`
  bool bodyArrow() const {
    const bool isArrow =
        previous() == TokenType::ASSIGN && found() == TokenType::GREATER &&
        areAdjacent(error.token - 1) && previous(2) == TokenType::RPAREN;
    if (isArrow && error.begin < error.token) {
      reword("the value of a function stands behind `=`, not behind `=>`",
             rangeOf(error.token - 1, error.token));
      return fix("write `=`", list.range(error.token), "");
    }
    if (!isBehindParameters() || !beginsExpression(found()))
      return false;
    return fix("the value of a function stands behind `=`: write `= " +
                   textOf(error.token, lastOfItem(error.token)) + "`",
               {list.source, list.tokens[error.token].begin,
                list.tokens[error.token].begin},
               "= ", Applicability::maybe);
  }

  /// `block gate(x) = silu(x)`
  bool blockValue() const {
    if (found() != TokenType::ASSIGN || previous() != TokenType::RPAREN)
      return false;
    const size_t last = lastOfItem(error.token);
    const std::string body = "{ return " + textOf(error.token + 1, last) + " }";
    reword("the body of a block stands in braces, not behind `=`");
    return fix("write `" + textOf(firstOfItem(), error.token - 1) + " " + body +
                   "`",
               rangeOf(error.token, last), body);
  }

  /// `block gate(x) -> tensor {`
  bool blockResult() const {
    if (found() != TokenType::ARROW || previous() != TokenType::RPAREN)
      return false;
    size_t brace = error.token;
    while (!isEndOfItem(brace) && type(brace) != TokenType::OPEN)
      ++brace;
    reword("a block does not say the type of its result",
           rangeOf(error.token, brace - 1));
    return fix("write `" + textOf(firstOfItem(), error.token - 1) + " {`",
               {list.source, list.tokens[error.token].begin,
                list.tokens[std::min(brace, list.tokens.size() - 1)].begin},
               "");
  }

  /// `block layer(x):`, `fun f(n):` with the body on the next lines
  bool bodyColon() const {
    const bool isBlock =
        error.rule == Grammar::RuleBlock || error.inside == Grammar::RuleBlock;
    if (isBlock && (blockValue() || blockResult()))
      return true;
    if (!isBlock || found() != TokenType::COLON)
      return false;
    reword("the body of a block stands in braces, not behind `:`");
    size_t head = error.token;
    while (head > 0 && type(head) != TokenType::BLOCK && !isEndOfItem(head))
      --head;
    return help("write `" + textOf(head, error.token - 1) +
                " { ... }` with the statements in the braces, the last one "
                "`return value`");
  }
};

} // namespace

bool helpWithForeignFunctions(const SourceMap& sources, const TokenList& list,
                              const SyntaxError& error, diag::Builder& report) {
  return ForeignFunctions(sources, list, error, report).run();
}

} // namespace recipec::parse
