// Sections that `=` replaces although their parent's were to be amended.

#ifndef RECIPEC_SEMA_RECORDS_REPLACED_H
#define RECIPEC_SEMA_RECORDS_REPLACED_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Helps with a missing field of `data = { ... }` where a parent's `data` has
/// it and was to be amended.
bool helpWithReplaced(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object);

/// Warns of `batch = { global = 32 }` where a parent or a mixin has set other
/// fields of `batch`: they have their defaults again. A record by its name,
/// `adamw { ... }`, is meant to replace the whole.
void warnOfReplaced(Evaluator& evaluator, const Object& object,
                    const Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_REPLACED_H
