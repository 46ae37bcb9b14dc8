// Help with what a type takes, where a value is of another one.

#ifndef RECIPEC_SEMA_TYPES_TYPEHELP_H
#define RECIPEC_SEMA_TYPES_TYPEHELP_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Adds a help with an example of the type.
void helpWithType(Evaluator& evaluator, diag::Builder& builder,
                  const Value& value, const Type& type, SourceRange range);
/// Adds a help when a file is used in place of one of its declarations.
/// Proposes the declaration with the file's name, or its first model with
/// sizes.
void helpWithImport(const Evaluator& evaluator, diag::Builder& builder,
                    const Value& value, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_TYPEHELP_H
