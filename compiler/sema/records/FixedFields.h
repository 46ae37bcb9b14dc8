// Derived fields, which cannot be set.

#ifndef RECIPEC_SEMA_RECORDS_FIXEDFIELDS_H
#define RECIPEC_SEMA_RECORDS_FIXEDFIELDS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Whether `slot` is a derived field that a user set, which is reported with
/// what to set instead.
bool reportFixed(Evaluator& evaluator, Object& object, const Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_FIXEDFIELDS_H
