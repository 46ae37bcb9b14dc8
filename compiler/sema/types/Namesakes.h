// Fields of the same name in other sections: `sequence` of `data` and of
// `parallel`.

#ifndef RECIPEC_SEMA_TYPES_NAMESAKES_H
#define RECIPEC_SEMA_TYPES_NAMESAKES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Helps with a number (with or without a unit) or a path that the field being
/// set does not take: proposes the only field of the same name that does,
/// `data.sequence` for `parallel.sequence = 4096`. Returns false if there is
/// none, or several.
bool helpWithNamesake(Evaluator& evaluator, diag::Builder& builder,
                      const Value& value, const Type& type, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_NAMESAKES_H
