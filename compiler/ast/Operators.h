// How operators are written and how strongly they bind; the parser builds by it
// and the formatter places brackets by it.

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
/// `not` binds its operand up to `and` and `or`, the sign more than any binary
/// operator.
int strength(UnaryOp op);
/// Stronger than all operators: a literal, a name, brackets, a suffix.
inline constexpr int suffixStrength = 10;
inline constexpr int comparisonStrength = 4;

/// Whether `a op b op c` is `(a op b) op c`; otherwise it is an error.
bool chains(BinaryOp op);

} // namespace recipec::ast

#endif // RECIPEC_AST_OPERATORS_H
