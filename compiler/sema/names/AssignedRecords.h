// Fields of a record that the same braces assign as a whole: `lr = 2e-5` beside
// `optimizer = adamw`.

#ifndef RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H
#define RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {

/// Helps with a key that `field`, in the record of another field, is meant by:
/// where the layer assigns that record, the key belongs into its braces.
/// `start` says what the key means.
bool helpWithAssigned(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Layer& layer,
                      const Member& member, const KnownField& field,
                      const std::string& start);

/// `lr = cosine(peak = 2e-3, warmup = 0.03)` for the field
/// `optimizer.lr.warmup` of a recipe whose `optimizer.lr` is the number 2e-3:
/// the record that the number and the field make. For `optimizer.lr` itself the
/// record of an example value, with the recipe's number. Empty where the recipe
/// has a record there. `recipe` is null where its record is not yet made.
std::string recordOfNumber(Evaluator& evaluator, const Object* recipe,
                           const KnownField& field, const std::string& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H
