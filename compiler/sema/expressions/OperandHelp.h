// Helps with an operator whose operands have the wrong types.

#ifndef RECIPEC_SEMA_EXPRESSIONS_OPERANDHELP_H
#define RECIPEC_SEMA_EXPRESSIONS_OPERANDHELP_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string_view>

namespace recipec::sema {

class Evaluator;

/// Why a condition cannot depend on a tensor, and what to use instead.
inline constexpr std::string_view noTensorCondition =
    "the elements of a tensor are not known when the model is built, so no "
    "condition depends on them: multiply by a gate, as in `sigmoid(g) * x`";

/// Whether a text is a name or a path of names.
bool isNamePath(std::string_view text);

/// Adds help for the operator or function `what` at `range`.
void helpWithOperands(const Evaluator& evaluator, diag::Builder& builder,
                      std::string_view what, const Value& left,
                      const Value& right, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_OPERANDHELP_H
