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

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_ASSIGNEDRECORDS_H
