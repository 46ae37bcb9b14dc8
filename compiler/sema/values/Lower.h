// Converts finished values to recipe::Value.

#ifndef RECIPEC_SEMA_VALUES_LOWER_H
#define RECIPEC_SEMA_VALUES_LOWER_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Replaces a dimension by its size. The Tracer keeps dimensions of attributes.
recipe::Value lower(Evaluator& evaluator, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_LOWER_H
