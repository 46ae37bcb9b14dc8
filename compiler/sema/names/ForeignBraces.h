// Settings of other tools that have braces: `zero_optimization { stage = 3 }`.

#ifndef RECIPEC_SEMA_NAMES_FOREIGNBRACES_H
#define RECIPEC_SEMA_NAMES_FOREIGNBRACES_H

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {

/// Helps with braces or a longer path after a key that is a plain field here
/// (`known`, in the schema of `object`). Each inner key is a value of that
/// field, or another field. Returns false for sections, and if no inner key
/// fits a field that takes records.
bool helpWithBraces(Evaluator& evaluator, diag::Builder& builder,
                    const Object& object, const Layer& layer,
                    const Member& member, const KnownField& known);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_FOREIGNBRACES_H
