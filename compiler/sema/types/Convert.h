// Values to the form that a type has. Nothing is reported here: Mismatch.h
// says why a value does not fit.

#ifndef RECIPEC_SEMA_TYPES_CONVERT_H
#define RECIPEC_SEMA_TYPES_CONVERT_H

#include "compiler/sema/values/Value.h"

#include <optional>

namespace recipec::sema {

class Evaluator;

/// The value as the type has it; none when it does not fit.
std::optional<Value> convert(Evaluator& evaluator, const Value& value,
                             const Type& type);
/// Whether the value would fit, of a map or record each of its values.
bool fits(Evaluator& evaluator, const Value& value, const Type& type);
/// Whether the value is a text of a data file, which may stand for a quantity
/// or `auto`.
bool isDataText(const Evaluator& evaluator, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_CONVERT_H
