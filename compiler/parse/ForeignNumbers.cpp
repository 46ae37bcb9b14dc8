// Help for numbers, powers and durations of other languages.

#include "compiler/parse/Durations.h"
#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/Powers.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>

namespace recipec::parse {
namespace {

class ForeignNumbers : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return percent() || power() || brokenExponent() || thousands() ||
           digitGroups() || duration() || shift() || trailingPoint();
  }

private:
  /// `3 %`
  bool percent() const {
    bool isBehindNumber = previous() == TokenType::PERCENT &&
                          isNumber(previous(2)) && error.token >= 2;
    if (!isBehindNumber || beginsExpression(found()))
      return false;
    std::string text = textOf(error.token - 2) + "%";
    reword("a percentage has no space before its `%`",
           rangeOf(error.token - 2, error.token - 1));
    return fix("write `" + text + "`, without the space",
               rangeOf(error.token - 2, error.token - 1), text);
  }

  /// `10**-3`, `2**n`. Reports all powers of the line together, because no
  /// further error of the line is reported.
  bool power() const {
    if (found() != TokenType::STAR || previous() != TokenType::STAR ||
        !areAdjacent(error.token - 1))
      return false;
    const std::vector<Power> powers = powersOfLine();
    if (powers.empty())
      return help("a power is written `pow(base, exponent)`");
    reword("a power is written `pow(base, exponent)`, not with `**`",
           rangeOf(error.token - 1, error.token));
    std::string all;
    for (size_t i = 0; i < powers.size(); ++i)
      all += (i == 0                  ? "`"
              : i + 1 < powers.size() ? ", `"
                                      : " and `") +
             powers[i].text + "`";
    report.help("write " + all);
    for (const Power& each : powers)
      report.fixIt(each.range, each.text, Applicability::safe);
    return true;
  }
  std::vector<Power> powersOfLine() const {
    auto lineOf = [&](size_t token) {
      return sources.lineColumn(list.source, list.tokens[token].begin).line;
    };
    const int line = lineOf(error.token);
    size_t first = error.token, end = error.token;
    while (first > 0 && lineOf(first - 1) == line)
      --first;
    while (end < list.tokens.size() && lineOf(end) == line)
      ++end;
    std::vector<Power> powers =
        powersIn(sources, list.source, list.tokens, first, end);
    std::erase_if(powers, [](const Power& each) {
      return each.text.find('\n') != each.text.npos;
    });
    return powers;
  }

  /// `1e-1.5`
  bool brokenExponent() const {
    if (found() != TokenType::INTEGER || previous() != TokenType::DOT ||
        previous(2) != TokenType::FLOAT || !areAdjacent(error.token - 1) ||
        !areAdjacent(error.token - 2))
      return false;
    const std::string number = textOf(error.token - 2);
    const size_t mark = number.find_first_of("eE");
    if (mark == number.npos)
      return false;
    const std::string exponent =
        number.substr(mark + 1) + "." + textOf(error.token);
    const std::string power = "pow(10, " + exponent + ")";
    const std::string factor = number.substr(0, mark);
    const std::string own = factor == "1" ? power : factor + " * " + power;
    const SourceRange whole = rangeOf(error.token - 2, error.token);
    reword("the exponent of a number is whole, and this one is " + exponent,
           whole);
    return fix("write `" + own + "`", whole, own, Applicability::maybe);
  }

  /// `100,000`; the parser read `100` and a comma.
  bool thousands() const {
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

  /// `1h 30min`; the parser read `1h`.
  bool duration() const {
    if (found() != TokenType::INTEGER || error.token < 2)
      return false;
    size_t last = error.token - 1;
    while (type(last + 1) == TokenType::INTEGER &&
           type(last + 2) == TokenType::IDENTIFIER)
      last += 2;
    const std::string text = textOf(error.token - 2, last);
    const auto sum = inOneUnit(text);
    if (!sum)
      return false;
    const SourceRange whole = rangeOf(error.token - 2, last);
    reword("a duration has one unit, and `" + text + "` has several", whole);
    return fix("write `" + *sum + "`", whole, *sum);
  }

  /// `1 000`
  bool digitGroups() const {
    if (found() != TokenType::INTEGER || previous() != TokenType::INTEGER ||
        textOf(error.token).size() != 3 || (!isAtItem() && !isOfFile()))
      return false;
    const std::string own = textOf(error.token - 1) + "_" + textOf(error.token);
    return fix("digits are grouped by `_`: write `" + own + "`",
               rangeOf(error.token - 1, error.token), own);
  }

  /// `1 << 7`, `n >> 2`
  bool shift() const {
    const bool isShift =
        (found() == TokenType::LESS || found() == TokenType::GREATER) &&
        found() == previous() && areAdjacent(error.token - 1);
    if (!isShift || error.token < 2 || isEndOfItem(error.token + 1) ||
        !isOperand(error.token - 2) || !isOperand(error.token + 1))
      return false;
    const std::string power = "pow(2, " + textOf(error.token + 1) + ")";
    const std::string left = textOf(error.token - 2);
    const std::string own = found() == TokenType::LESS && left == "1" ? power
                            : found() == TokenType::LESS
                                ? left + " * " + power
                                : "floor(" + left + " / " + power + ")";
    reword("bits are not shifted: a number is multiplied by a power of 2",
           rangeOf(error.token - 1, error.token));
    return fix("write `" + own + "`", rangeOf(error.token - 2, error.token + 1),
               own, Applicability::maybe);
  }

  /// `5.`
  bool trailingPoint() const {
    if (previous() != TokenType::DOT || previous(2) != TokenType::INTEGER ||
        error.token < 2 || isName(found()))
      return false;
    const std::string own = textOf(error.token - 2) + ".0";
    reword("a number has digits behind its point",
           rangeOf(error.token - 2, error.token - 1));
    return fix("write `" + own + "`", rangeOf(error.token - 2, error.token - 1),
               own);
  }
};

} // namespace

bool helpWithForeignNumbers(const SourceMap& sources, const TokenList& list,
                            const SyntaxError& error, diag::Builder& report) {
  return ForeignNumbers(sources, list, error, report).run();
}

} // namespace recipec::parse
