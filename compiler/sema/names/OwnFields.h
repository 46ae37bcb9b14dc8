// Helps with two kinds of names: a field that is read in its own value, and
// keys with hyphens.

#ifndef RECIPEC_SEMA_NAMES_OWNFIELDS_H
#define RECIPEC_SEMA_NAMES_OWNFIELDS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports a name that is only that of the field being set, as in
/// `hidden = 2 * hidden`, with no such name in the enclosing scopes. Returns
/// false for other names.
bool reportOwnField(Evaluator& evaluator, const ast::Name& name,
                    const Env& env);

/// Reports a file path without quotation marks, `train.jsonl`, around an
/// unknown name. Returns false for other names.
bool reportBareFile(Evaluator& evaluator, SourceRange name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OWNFIELDS_H
