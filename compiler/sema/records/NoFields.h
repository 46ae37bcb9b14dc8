// Reports fields that are set in a value without fields: `tokenizer { ... }`.

#ifndef RECIPEC_SEMA_RECORDS_NOFIELDS_H
#define RECIPEC_SEMA_RECORDS_NOFIELDS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;
struct Suggestion;

/// Reports braces, or a longer path, after the name of a slot whose value
/// `base` has no fields. `list` is the suggestion if a list was meant, or
/// nullptr.
void reportNoFields(Evaluator& evaluator, Object& object, const Slot& slot,
                    const Value& base, const Suggestion* list);

/// Reports braces that amend a model in a recipe that sets none. Returns false
/// if there are no braces.
bool reportBracesOfNoModel(Evaluator& evaluator, const Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_NOFIELDS_H
