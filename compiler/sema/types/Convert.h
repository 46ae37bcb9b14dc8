// Converts values to a type. Reports nothing: Mismatch.h explains why a value
// does not fit.

#ifndef RECIPEC_SEMA_TYPES_CONVERT_H
#define RECIPEC_SEMA_TYPES_CONVERT_H

#include "compiler/sema/values/Value.h"

#include <optional>

namespace recipec::sema {

class Evaluator;

/// The value converted to the type; nullopt when it does not fit.
std::optional<Value> convert(Evaluator& evaluator, const Value& value,
                             const Type& type);
/// Whether the value fits the type. Checks each value of a map or record.
bool fits(Evaluator& evaluator, const Value& value, const Type& type);
/// Whether the value is a string from a data file, which may stand for a
/// quantity or `auto`.
bool isDataText(const Evaluator& evaluator, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_CONVERT_H
