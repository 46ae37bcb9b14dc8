// Derived fields, which cannot be set.

#ifndef RECIPEC_SEMA_RECORDS_FIXEDFIELDS_H
#define RECIPEC_SEMA_RECORDS_FIXEDFIELDS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports a derived field that the user set, with what to set instead. Returns
/// false if `slot` is not such a field.
bool reportFixed(Evaluator& evaluator, Object& object, const Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_FIXEDFIELDS_H
