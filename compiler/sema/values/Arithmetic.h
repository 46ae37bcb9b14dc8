// Arithmetic of floating-point numbers, of plain ones and of quantities.

#ifndef RECIPEC_SEMA_VALUES_ARITHMETIC_H
#define RECIPEC_SEMA_VALUES_ARITHMETIC_H

#include "compiler/ast/Ast.h"

namespace recipec::sema {

/// `+ - * / %`; the result may not be finite.
double realArithmetic(ast::BinaryOp op, double left, double right);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_ARITHMETIC_H
