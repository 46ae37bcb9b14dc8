// Settings of other tools that have braces: `zero_optimization { stage = 3 }`.

#ifndef RECIPEC_SEMA_NAMES_FOREIGNBRACES_H
#define RECIPEC_SEMA_NAMES_FOREIGNBRACES_H

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {

/// Helps with a record or a path below a key that is a plain field here,
/// `known` of the schema of `object`: each key in it is a value of that field
/// or another field. False where no key is either.
bool helpWithBraces(Evaluator& evaluator, diag::Builder& builder,
                    const Object& object, const Layer& layer,
                    const Member& member, const KnownField& known);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_FOREIGNBRACES_H
