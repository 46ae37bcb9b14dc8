// Help for unpacking in the syntax of other languages, `[*xs, 1]`, `f(*xs)` and
// `q, k = f(x)`, and for several values in place of one.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <utility>

namespace recipec::parse {
namespace {

class ForeignUnpacking : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return unpackedList() || unpackedArguments() || severalLets() ||
           secondLet() || severalNames() || secondResult();
  }

private:
  /// The innermost bracket that is open at the error.
  size_t openingBracket() const {
    size_t open = error.token;
    while (open > 0 && list.tokens[open].depth >= depthOf(error.token))
      --open;
    return open;
  }
  int depthOf(size_t token) const { return list.tokens[token].depth; }

  bool isUnpacked(size_t first) const {
    return type(first) == TokenType::STAR ||
           (type(first) == TokenType::RANGE &&
            type(first + 1) == TokenType::DOT);
  }
  /// Whether an element or argument begins at the error with a sign of
  /// unpacking.
  bool isAtUnpacking() const {
    size_t sign = error.token;
    while (sign > 0 && (isUnpacked(sign - 1) || type(sign) == TokenType::DOT))
      --sign;
    return isUnpacked(sign) &&
           (type(sign - 1) == TokenType::LBRACKET ||
            type(sign - 1) == TokenType::LPAREN || isComma(sign - 1));
  }

  /// `[*xs, 1]`, `[...xs, 1]`: lists are joined by `+`.
  bool unpackedList() const {
    if (!isAtUnpacking() || type(openingBracket()) != TokenType::LBRACKET)
      return false;
    const size_t open = openingBracket();
    std::string joined, plain;
    auto add = [&](const std::string& part) {
      if (!part.empty())
        joined += (joined.empty() ? "" : " + ") + part;
    };
    auto addPlain = [&] {
      add(plain.empty() ? "" : "[" + std::exchange(plain, {}) + "]");
    };
    size_t close = open;
    while (type(close) != TokenType::RBRACKET || close == open ||
           depthOf(close) > depthOf(open)) {
      const size_t first = close + 1;
      for (close = first;
           close < list.tokens.size() && depthOf(close) > depthOf(open) &&
           !(isComma(close) && depthOf(close) == depthOf(open) + 1);)
        ++close;
      if (close >= list.tokens.size() || isEndOfItem(close))
        return false;
      size_t begin = first;
      while (isUnpacked(begin) ||
             (begin > first && type(begin) == TokenType::DOT))
        ++begin;
      const std::string element =
          begin < close ? textOf(begin, close - 1) : std::string();
      if (begin == first) {
        plain += (plain.empty() || element.empty() ? "" : ", ") + element;
        continue;
      }
      addPlain();
      add(element);
    }
    addPlain();
    reword("a list takes no other list apart: lists are joined by `+`");
    return joined.find('\n') == joined.npos &&
           fix("write `" + joined + "`", rangeOf(open, close), joined);
  }

  /// `f(*xs)`, `f(**options)`
  bool unpackedArguments() const {
    if (!isAtUnpacking() || type(openingBracket()) != TokenType::LPAREN)
      return false;
    reword("a call takes no list or map apart");
    return help("write each argument by itself, `f(xs[0], xs[1])` or `f(a = "
                "options.a)`");
  }

  /// `let a, b = 1, 2`, `let [a, b] = pair`
  bool severalLets() const {
    const size_t first = firstOfItem();
    const bool isBracket = found() == TokenType::LBRACKET ||
                           found() == TokenType::LPAREN ||
                           found() == TokenType::OPEN;
    if (type(first) != TokenType::LET ||
        (!isBracket && !isComma(error.token)) || error.token > first + 2)
      return false;
    const std::string one =
        textOf(isBracket ? error.token + 1 : error.token - 1);
    const std::string other =
        textOf(isBracket ? error.token + 3 : error.token + 1);
    reword("a `let` names one value");
    return help("write `let " + one + " = ...` and `let " + other +
                " = ...`, each on a line of its own");
  }

  /// `q, k, v = linear(...)`, `weights, chosen = router(...)` in a block.
  bool severalNames() const {
    const bool isList = found() == TokenType::SEPARATOR && isComma(error.token);
    if ((!isList && !isComma(error.token)) || !isName(previous()) ||
        !isInFunction())
      return false;
    size_t last = error.token;
    while (isComma(last) && isName(type(last + 1)))
      last += 2;
    const size_t sign = last + (type(last) == TokenType::RBRACKET);
    if (type(sign) != TokenType::ASSIGN)
      return false;
    const std::string first = textOf(error.token - 1);
    const std::string second = textOf(error.token + 1);
    const bool isCall =
        isName(type(sign + 1)) && type(sign + 2) == TokenType::LPAREN;
    const std::string callee = isCall ? textOf(sign + 1) : std::string();
    if (isCall)
      reword("a statement binds one name, and `" + callee +
                 "` returns one value",
             rangeOf(error.token - 1, last - 1));
    if (callee == "router")
      return help("write `routing = router(...)`, and give `routing` to "
                  "`dispatch` and to `combine`");
    if (callee == "linear" || !isCall)
      return help("write a statement for each, as in `" + first +
                  " = linear(x, hidden -> [heads, head_dim], name = \"" +
                  first + "\")`");
    return help("write a statement for each, `" + first + " = " + callee +
                "(...)` and `" + second + " = ...`");
  }

  /// `let a = 1, b = 2`
  bool secondLet() const {
    if (!isComma(error.token - 1) || !isName(found()) ||
        next() != TokenType::ASSIGN || (!isOfFile() && !isAtItem()))
      return false;
    size_t first = error.token - 1;
    while (first > 0 && !isEndOfItem(first - 1))
      --first;
    if (type(first) != TokenType::LET)
      return false;
    reword("a `let` names one value",
           rangeOf(error.token, lastOfItem(error.token)));
    return fix("write `let " + textOf(error.token, lastOfItem(error.token)) +
                   "` on a line of its own",
               {list.source, list.tokens[error.token - 1].begin,
                list.tokens[error.token].begin},
               "\nlet ");
  }

  /// `return x, a`
  bool secondResult() const {
    const bool isName = error.rule == Grammar::RuleSetting;
    const size_t comma = (isName ? error.begin : error.token) - 1;
    if ((!isName && !isAtItem()) || !isComma(comma) || !isInFunction())
      return false;
    const size_t last = lastOfLine(comma);
    size_t first = comma;
    while (first > 0 && !isEndOfItem(first - 1) &&
           type(first - 1) != TokenType::OPEN)
      --first;
    if (type(first) != TokenType::RETURN)
      return false;
    reword("a block or function returns one value", rangeOf(comma + 1, last));
    return fix("write `" + textOf(first, comma - 1) +
                   "`; what else is needed is returned by a block of its own",
               rangeOf(comma, last), "", Applicability::maybe);
  }
  /// The last token of the line of items that a token is on.
  size_t lastOfLine(size_t token) const {
    size_t last = lastOfItem(token + 1);
    while (isComma(last + 1) && !isEndOfItem(last + 2))
      last = lastOfItem(last + 2);
    return last;
  }
};

} // namespace

bool helpWithUnpacking(const SourceMap& sources, const TokenList& list,
                       const SyntaxError& error, diag::Builder& report) {
  return ForeignUnpacking(sources, list, error, report).run();
}

} // namespace recipec::parse
