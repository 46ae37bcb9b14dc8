// Sections that `=` replaces although the parent's section was meant to be
// amended.

#ifndef RECIPEC_SEMA_RECORDS_REPLACED_H
#define RECIPEC_SEMA_RECORDS_REPLACED_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Helps with a missing field of `data = { ... }` that the parent's `data` has.
bool helpWithReplaced(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object);

/// Warns of `batch = { global = 32 }` if a parent or mixin has set other fields
/// of `batch`, because these return to their defaults. A named record,
/// `adamw { ... }`, replaces the section intentionally.
void warnOfReplaced(Evaluator& evaluator, const Object& object,
                    const Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_REPLACED_H
