// Finds the powers of Python; see Powers.h.
//
// 1. Find two `*` without a space between them.
// 2. The base ends before them: a number, a path of names with calls and
//    indices behind it, or a value in parentheses.
// 3. The exponent begins behind them, in the same form, perhaps with a sign.

#include "compiler/parse/Powers.h"

#include <optional>

namespace recipec::parse {
namespace {

class PowerSearch {
public:
  PowerSearch(const SourceMap& sources, SourceId source,
              const std::vector<Token>& tokens)
      : sources(sources), source(source), tokens(tokens) {}

  std::vector<Power> run(size_t first, size_t end) const {
    std::vector<Power> powers;
    for (size_t i = first; i + 1 < end; ++i)
      if (isSign(i))
        if (auto power = powerAt(i))
          powers.push_back(std::move(*power));
    return powers;
  }

private:
  size_t type(size_t token) const {
    return token < tokens.size() ? tokens[token].type : size_t(TokenType::EOF);
  }
  bool isNumber(size_t token) const {
    return type(token) == TokenType::INTEGER || type(token) == TokenType::FLOAT;
  }
  std::string textOf(size_t first, size_t last) const {
    return std::string(
        sources.text({source, tokens[first].begin, tokens[last].end}));
  }
  bool isSign(size_t token) const {
    return type(token) == TokenType::STAR &&
           type(token + 1) == TokenType::STAR &&
           tokens[token].end == tokens[token + 1].begin;
  }

  static bool opens(size_t type) {
    return type == TokenType::LPAREN || type == TokenType::LBRACKET ||
           type == TokenType::OPEN;
  }
  static bool closes(size_t type) {
    return type == TokenType::RPAREN || type == TokenType::RBRACKET ||
           type == TokenType::CLOSE;
  }

  /// The bracket that opens the one at `close`.
  std::optional<size_t> opening(size_t close) const {
    int depth = 0;
    for (size_t i = close + 1; i > 0; --i) {
      depth += closes(type(i - 1));
      depth -= opens(type(i - 1));
      if (depth == 0)
        return i - 1;
    }
    return std::nullopt;
  }
  std::optional<size_t> closing(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens.size(); ++i) {
      depth += opens(type(i));
      depth -= closes(type(i));
      if (depth == 0)
        return i;
    }
    return std::nullopt;
  }

  /// The first token of the operand that ends at `last`.
  std::optional<size_t> beginOf(size_t last) const {
    if (isNumber(last))
      return last;
    size_t at = last;
    while (type(at) == TokenType::RPAREN || type(at) == TokenType::RBRACKET) {
      const auto open = opening(at);
      if (!open)
        return std::nullopt;
      const bool isSuffix =
          *open > 0 && (isName(type(*open - 1)) || closes(type(*open - 1)));
      if (!isSuffix)
        return type(at) == TokenType::RPAREN ? open : std::nullopt;
      at = *open - 1;
    }
    while (isName(type(at)) && at >= 2 && type(at - 1) == TokenType::DOT &&
           isName(type(at - 2)))
      at -= 2;
    return isName(type(at)) ? std::optional(at) : std::nullopt;
  }

  /// The last token of the operand that begins at `first`.
  std::optional<size_t> endOf(size_t first) const {
    if (isNumber(first))
      return first;
    std::optional<size_t> last;
    if (type(first) == TokenType::LPAREN)
      last = closing(first);
    else if (isName(type(first)))
      last = first;
    while (last) {
      if (type(*last + 1) == TokenType::DOT && isName(type(*last + 2)))
        last = *last + 2;
      else if (type(*last + 1) == TokenType::LPAREN ||
               type(*last + 1) == TokenType::LBRACKET)
        last = closing(*last + 1);
      else
        break;
    }
    return last;
  }

  /// An operand without the parentheses around all of it.
  std::string operand(size_t first, size_t last) const {
    const bool isGroup =
        type(first) == TokenType::LPAREN && closing(first) == last;
    return isGroup ? textOf(first + 1, last - 1) : textOf(first, last);
  }

  std::optional<Power> powerAt(size_t sign) const {
    const auto first = sign > 0 ? beginOf(sign - 1) : std::nullopt;
    const bool isNegative = type(sign + 2) == TokenType::MINUS;
    const size_t begin = sign + 2 + isNegative;
    const auto last = endOf(begin);
    if (!first || !last || isSign(*last + 1) ||
        (*first >= 2 && isSign(*first - 2)))
      return std::nullopt;
    const std::string base = operand(*first, sign - 1);
    const std::string exponent = operand(begin, *last);
    if (base.find("**") != base.npos || exponent.find("**") != exponent.npos)
      return std::nullopt;
    const bool isOfTen =
        base == "10" && isNegative && type(begin) == TokenType::INTEGER;
    return Power{{source, tokens[*first].begin, tokens[*last].end},
                 isOfTen ? "1e-" + exponent
                         : "pow(" + base + ", " + (isNegative ? "-" : "") +
                               exponent + ")"};
  }

  const SourceMap& sources;
  SourceId source;
  const std::vector<Token>& tokens;
};

} // namespace

std::vector<Power> powersIn(const SourceMap& sources, SourceId source,
                            const std::vector<Token>& tokens, size_t first,
                            size_t end) {
  return PowerSearch(sources, source, tokens).run(first, end);
}

} // namespace recipec::parse
