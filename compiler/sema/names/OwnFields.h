// Names that are nearly those of a field: the name of the field that is being
// set, in its own value, and keys with hyphens.

#ifndef RECIPEC_SEMA_NAMES_OWNFIELDS_H
#define RECIPEC_SEMA_NAMES_OWNFIELDS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports a name that is that of the field being set, `hidden = 2 * hidden`,
/// and of nothing in the enclosing scopes. Returns false for other names.
bool reportOwnField(Evaluator& evaluator, const ast::Name& name,
                    const Env& env);

/// Reports the path of a file without quotation marks, `train.jsonl`, around a
/// name that is none. Returns false for other names.
bool reportBareFile(Evaluator& evaluator, SourceRange name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OWNFIELDS_H
