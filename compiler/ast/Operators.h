// How operators are written and how strongly they bind. The parser uses this to
// build the tree, and the formatter to place brackets.

#ifndef RECIPEC_AST_OPERATORS_H
#define RECIPEC_AST_OPERATORS_H

#include "compiler/ast/Ast.h"

#include <string_view>

namespace recipec::ast {

/// `+`, `and`, `->`
std::string_view spelling(BinaryOp op);
std::string_view spelling(UnaryOp op);
std::string_view spelling(KeywordLiteral::Which which);

/// How strongly an operator binds; larger binds first.
int strength(BinaryOp op);
/// The operand of `not` extends up to `and` or `or`. The sign binds more
/// strongly than any binary operator.
int strength(UnaryOp op);
/// The strength of a literal, a name, brackets or a suffix, above all
/// operators.
inline constexpr int suffixStrength = 10;
inline constexpr int comparisonStrength = 4;

/// Whether `a op b op c` means `(a op b) op c`. For other operators it is an
/// error.
bool chains(BinaryOp op);

} // namespace recipec::ast

#endif // RECIPEC_AST_OPERATORS_H
