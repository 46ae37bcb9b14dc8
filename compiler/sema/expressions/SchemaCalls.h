// Mistakes in the arguments of a call that makes a record.

#ifndef RECIPEC_SEMA_EXPRESSIONS_SCHEMACALLS_H
#define RECIPEC_SEMA_EXPRESSIONS_SCHEMACALLS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports arguments that are one mistake as a whole: more than the record has
/// fields, files that are one list, weights beside their sources. Returns
/// whether it has reported one; the record is not made then.
bool reportArguments(Evaluator& evaluator, const Schema& schema,
                     const ast::Call& call, const Env& env);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_SCHEMACALLS_H
