// Reports fields that are set of a value without fields: `tokenizer { ... }`.

#ifndef RECIPEC_SEMA_RECORDS_NOFIELDS_H
#define RECIPEC_SEMA_RECORDS_NOFIELDS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;
struct Suggestion;

/// Reports braces, or a longer path, behind the name of a slot whose value
/// `base` has no fields. `list` is what to write where a list was meant;
/// nullptr where none was.
void reportNoFields(Evaluator& evaluator, Object& object, const Slot& slot,
                    const Value& base, const Suggestion* list);

/// Reports braces of a model in a recipe that sets none. Returns false where
/// there are no braces.
bool reportBracesOfNoModel(Evaluator& evaluator, const Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_NOFIELDS_H
