// Helps with operations that tensors do not have.

#ifndef RECIPEC_SEMA_MODELS_TENSORHELP_H
#define RECIPEC_SEMA_MODELS_TENSORHELP_H

#include "compiler/ast/Ast.h"
#include "compiler/sema/values/Value.h"

#include <string>
#include <string_view>

namespace recipec::sema {

/// An operand, its text, and for a tensor the op that made it.
struct TensorOperand {
  const Value& value;
  std::string written;
  std::string_view maker;
};

/// How to express the operation with ops on tensors.
std::string wayOutOf(ast::BinaryOp op, const TensorOperand& left,
                     const TensorOperand& right);

/// How to express an index of the tensor written as `written`. `dims` are its
/// last dimensions, as Tracer::lastDims gives them.
std::string wayOutOfIndex(const std::string& written, const std::string& dims);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODELS_TENSORHELP_H
