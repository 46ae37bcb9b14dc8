// Finished values to recipe::Value.

#ifndef RECIPEC_SEMA_VALUES_LOWER_H
#define RECIPEC_SEMA_VALUES_LOWER_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// A dimension becomes its size; the Tracer keeps those of attributes.
recipe::Value lower(Evaluator& evaluator, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_LOWER_H
