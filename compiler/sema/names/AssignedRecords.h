// Helps with a field of a record that the same braces assign as a whole:
// `lr = 2e-5` beside `optimizer = adamw`.

#ifndef RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H
#define RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {

/// Helps with a key that means `field`, a field of the record in another field.
/// If the layer assigns that record, the help adds the key to the record's
/// braces. `start` says what the key means.
bool helpWithAssigned(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Layer& layer,
                      const Member& member, const KnownField& field,
                      const std::string& start);

/// Writes a record in place of a number. If `optimizer.lr` is 2e-3, the field
/// `optimizer.lr.warmup` becomes `lr = cosine(peak = 2e-3, warmup = 0.03)`. For
/// the field `optimizer.lr` itself, `value` is an example record, and the
/// result has the recipe's number in it. Empty if the recipe does not set a
/// number there. `recipe` is null while its record is being made.
std::string recordOfNumber(Evaluator& evaluator, const Object* recipe,
                           const KnownField& field, const std::string& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H
