// Messages about values that do not have the expected type.

#ifndef RECIPEC_SEMA_TYPES_MISMATCH_H
#define RECIPEC_SEMA_TYPES_MISMATCH_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// Converts the value or reports it. `what` names the place:
/// `` `parallel.tp` ``.
Value expect(Evaluator& evaluator, const Value& value, const Type& type,
             SourceRange range, const std::string& what);
void reportMismatch(Evaluator& evaluator, const Value& value, const Type& type,
                    SourceRange range, const std::string& what);
/// Describes a value in a few words: `4`, `"bf16"`, `a list`.
std::string describe(Evaluator& evaluator, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_MISMATCH_H
