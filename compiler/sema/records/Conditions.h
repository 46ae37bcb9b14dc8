// `require`: what does not hold, and why.

#ifndef RECIPEC_SEMA_RECORDS_CONDITIONS_H
#define RECIPEC_SEMA_RECORDS_CONDITIONS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// In the place of a layer's index: the conditions of the record's schema.
inline constexpr size_t checkOwnSchema = size_t(-1);

/// Reports a condition of a record's schema, or of one of its layers, that does
/// not hold. `range` is that of the `require`.
void checkCondition(Evaluator& evaluator, Object& object, size_t layerIndex,
                    const ast::Require& require, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_CONDITIONS_H
