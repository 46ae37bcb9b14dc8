// Mistakes in the arguments of a call that makes a record.

#ifndef RECIPEC_SEMA_EXPRESSIONS_SCHEMACALLS_H
#define RECIPEC_SEMA_EXPRESSIONS_SCHEMACALLS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports arguments that are a single mistake together: too many for the
/// record's fields, files that should be one list, or weights beside their
/// sources. Returns whether it reported one; the record is then not made.
bool reportArguments(Evaluator& evaluator, const Schema& schema,
                     const ast::Call& call, const Env& env);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_SCHEMACALLS_H
