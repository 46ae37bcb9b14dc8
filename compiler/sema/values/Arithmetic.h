// Floating-point arithmetic for plain numbers and quantities.

#ifndef RECIPEC_SEMA_VALUES_ARITHMETIC_H
#define RECIPEC_SEMA_VALUES_ARITHMETIC_H

#include "compiler/ast/Ast.h"

namespace recipec::sema {

/// Computes `+ - * / %`. The result may be infinite or NaN.
double realArithmetic(ast::BinaryOp op, double left, double right);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_ARITHMETIC_H
