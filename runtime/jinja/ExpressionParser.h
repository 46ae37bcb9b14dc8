// Parses the expressions of a template.

#ifndef RECIPERUN_JINJA_EXPRESSIONPARSER_H
#define RECIPERUN_JINJA_EXPRESSIONPARSER_H

#include "runtime/jinja/Ast.h"
#include "runtime/jinja/Lexer.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::jinja {

/// The tokens of a template and the one that is read next. There is always one:
/// the last is `end`.
class TokenCursor {
public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  const Token& token() const { return tokens[at]; }
  void next() { at += at + 1 < tokens.size(); }
  bool take(Token::Kind kind, std::string_view text) {
    if (!token().is(kind, text))
      return false;
    next();
    return true;
  }
  Status expect(Token::Kind kind, std::string_view text);
  Status takeName(std::string& name);
  /// A failure at the line of the next token.
  Status failure(const std::string& what) const;

  int depth = 0; // of nested constructs
private:
  std::vector<Token> tokens;
  size_t at = 0;
};

/// Counts a nested construct during its life, so that a hostile template cannot
/// overflow the stack.
class Nesting {
public:
  explicit Nesting(TokenCursor& cursor) : cursor(cursor) { ++cursor.depth; }
  ~Nesting() { --cursor.depth; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  /// Fails beyond the limit.
  Status status() const;

private:
  TokenCursor& cursor;
};

/// Each function parses one level of precedence from the cursor.
class ExpressionParser {
public:
  explicit ExpressionParser(TokenCursor& cursor) : cursor(cursor) {}

  /// `a, b` is a list of two; otherwise like `expression`.
  Status tuple(ast::ExprPtr& result);
  Status expression(ast::ExprPtr& result); // a if b else c
  Status unconditional(ast::ExprPtr& result);
  /// Arguments up to and with the `)`.
  Status arguments(ast::CallArguments& result);

private:
  Status conjunction(ast::ExprPtr& result);
  Status negation(ast::ExprPtr& result);
  Status comparison(ast::ExprPtr& result);
  Status sum(ast::ExprPtr& result);
  Status concatenation(ast::ExprPtr& result);
  Status term(ast::ExprPtr& result);
  Status power(ast::ExprPtr& result);
  Status unary(ast::ExprPtr& result, bool takesFilters);
  Status primary(ast::ExprPtr& result);
  Status bracketed(ast::ExprPtr& result);
  Status dictionary(ast::ExprPtr& result);
  Status postfix(ast::ExprPtr& result);
  Status subscript(ast::ExprPtr& result);
  Status filters(ast::ExprPtr& result);
  Status test(ast::ExprPtr& result);

  template <class Node> ast::ExprPtr make(Node node, int line) const;
  TokenCursor& cursor;
};

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_EXPRESSIONPARSER_H
