// The tokens around a syntax error, for the rules that recognise the syntax of
// other languages. Private to this folder.
//
// All accessors accept indices outside of the list, and return EOF or an empty
// text for them, because rules look before the first token and after the last.

#ifndef RECIPEC_PARSE_SYNTAXVIEW_H
#define RECIPEC_PARSE_SYNTAXVIEW_H

#include "compiler/parse/ErrorStrategy.h"

#include <optional>

namespace recipec::parse {

class SyntaxView {
public:
  SyntaxView(const SourceMap& sources, const TokenList& list,
             const SyntaxError& error, diag::Builder& report)
      : sources(sources), list(list), error(error), report(report) {}

protected:
  using Applicability = diag::Applicability;

  // ---- tokens

  size_t type(size_t token) const {
    return token < list.tokens.size() ? list.tokens[token].type
                                      : size_t(TokenType::EOF);
  }
  size_t found() const { return type(error.token); }
  size_t next(size_t by = 1) const { return type(error.token + by); }
  size_t previous(size_t by = 1) const { return type(error.token - by); }
  std::string textOf(size_t token) const {
    if (token >= list.tokens.size())
      return {};
    return std::string(sources.text(list.range(token)));
  }
  SourceRange rangeOf(size_t first, size_t last) const {
    return {list.source, list.tokens[first].begin, list.tokens[last].end};
  }
  /// The text from the first to the last token.
  std::string textOf(size_t first, size_t last) const {
    if (first > last || last >= list.tokens.size())
      return {};
    return std::string(sources.text(rangeOf(first, last)));
  }
  /// Whether no space separates a token from the next one.
  bool areAdjacent(size_t first) const {
    return first < list.tokens.size() && first + 1 < list.tokens.size() &&
           list.tokens[first].end == list.tokens[first + 1].begin;
  }
  bool isBehindSpace(size_t token) const {
    return token > 0 && !areAdjacent(token - 1);
  }
  static bool isNumber(size_t type) {
    return type == TokenType::INTEGER || type == TokenType::FLOAT;
  }
  bool isComma(size_t token) const {
    return type(token) == TokenType::COMMA ||
           (type(token) == TokenType::SEPARATOR && textOf(token) == ",");
  }
  bool isEndOfItem(size_t token) const {
    return type(token) == TokenType::SEPARATOR ||
           type(token) == TokenType::CLOSE || type(token) == TokenType::EOF;
  }
  bool isOperand(size_t token) const {
    return isName(type(token)) || type(token) == TokenType::INTEGER;
  }
  /// The first token of the path that ends at `last`: `batch` of
  /// `batch.global`.
  size_t firstOfPath(size_t last) const {
    while (last >= 2 && type(last - 1) == TokenType::DOT &&
           isName(type(last - 2)))
      last -= 2;
    return last;
  }
  size_t lastOfPath(size_t first) const {
    while (type(first + 1) == TokenType::DOT && isName(type(first + 2)))
      first += 2;
    return first;
  }

  /// The last token of the item that `token` belongs to, at its depth.
  size_t lastOfItem(size_t token) const;

  // ---- places

  /// Whether the error is at a declaration of the file.
  bool isOfFile() const {
    return error.rule == Grammar::RuleDeclaration ||
           error.rule == Grammar::RuleDeclarations;
  }
  /// Whether the error is where an item of braces begins or ends.
  bool isAtItem() const {
    return error.rule == Grammar::RuleItem || error.rule == Grammar::RuleItems;
  }
  /// The first token of the item to which the innermost braces around the error
  /// belong. Skips the braces of `for` and `if`. Returns nullopt outside of
  /// braces and in the braces of a value.
  std::optional<size_t> headOfBraces() const;
  size_t headType() const {
    auto head = headOfBraces();
    return head ? type(*head) : size_t(TokenType::EOF);
  }
  bool isInFunction() const {
    return headType() == TokenType::BLOCK || headType() == TokenType::FUN;
  }

  /// Whether the innermost braces set fields, as a recipe's braces do.
  bool setsFields() const {
    return !isInFunction() && headType() != TokenType::SCHEMA &&
           headType() != TokenType::MODEL;
  }

  /// Whether the text is that of an interpolation, `{...}` in a string.
  bool isInterpolation() const { return list.endName == "`}`"; }
  /// The first token of the item or declaration around the error.
  size_t firstOfItem() const;

  // ---- reports

  /// Replaces "expected ..., found ..." by the rule that the text breaks.
  void reword(std::string message) const {
    reword(std::move(message), list.range(error.token));
  }
  void reword(std::string message, SourceRange range) const {
    if (!error.diagnostic)
      return;
    error.diagnostic->message = std::move(message);
    error.diagnostic->range = range;
  }

  bool help(std::string text) const {
    report.help(std::move(text));
    return true;
  }
  bool fix(std::string text, SourceRange range, std::string replacement,
           Applicability applicability = Applicability::safe) const {
    report.help(std::move(text))
        .fixIt(range, std::move(replacement), applicability);
    return true;
  }

  const SourceMap& sources;
  const TokenList& list;
  const SyntaxError& error;
  diag::Builder& report;
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_SYNTAXVIEW_H
