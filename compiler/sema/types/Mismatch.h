// Messages about values that do not have the type that is due.

#ifndef RECIPEC_SEMA_TYPES_MISMATCH_H
#define RECIPEC_SEMA_TYPES_MISMATCH_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// Converts or reports; `what` names the place: `` `parallel.tp` ``.
Value expect(Evaluator& evaluator, const Value& value, const Type& type,
             SourceRange range, const std::string& what);
void reportMismatch(Evaluator& evaluator, const Value& value, const Type& type,
                    SourceRange range, const std::string& what);
/// Says what a value of the type may look like.
void helpWithType(Evaluator& evaluator, diag::Builder& builder,
                  const Value& value, const Type& type, SourceRange range);
/// Where a file stands for one of its declarations: names the one of the file's
/// own name, or its first model with sizes.
void helpWithImport(const Evaluator& evaluator, diag::Builder& builder,
                    const Value& value, SourceRange range);
/// A value in a few words: `4`, `"bf16"`, `a list`.
std::string describe(Evaluator& evaluator, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_MISMATCH_H
