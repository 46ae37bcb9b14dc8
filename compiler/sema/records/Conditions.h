// Checks and reports `require` conditions.

#ifndef RECIPEC_SEMA_RECORDS_CONDITIONS_H
#define RECIPEC_SEMA_RECORDS_CONDITIONS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Used in place of a layer's index for the conditions of the record's schema.
inline constexpr size_t checkOwnSchema = size_t(-1);

/// Evaluates a condition of a record's schema or of one of its layers, and
/// reports it when it fails. `range` is that of the `require`.
void checkCondition(Evaluator& evaluator, Object& object, size_t layerIndex,
                    const ast::Require& require, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_CONDITIONS_H
