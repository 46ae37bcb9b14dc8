// Finds comparisons whose result is known from the types of their operands.

#ifndef RECIPEC_SEMA_EXPRESSIONS_COMPARISONS_H
#define RECIPEC_SEMA_EXPRESSIONS_COMPARISONS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports a comparison by `==`, `!=` or `in` of values that are never equal,
/// such as an `int` and a `string`. Returns false when they may be equal. Every
/// value may be compared with `none` and `auto`.
bool reportNeverEqual(Evaluator& evaluator, const ast::Binary& node,
                      const Value& left, const Value& right, SourceRange range,
                      const Env& env);

/// Whether the declared type of the field or parameter `id` includes `none`.
bool mayBeNone(Evaluator& evaluator, ast::ExprId id, const Value& value,
               const Env& env);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_COMPARISONS_H
