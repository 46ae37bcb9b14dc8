// Fields of the same name in other sections: `sequence` of `data` and of
// `parallel`.

#ifndef RECIPEC_SEMA_TYPES_NAMESAKES_H
#define RECIPEC_SEMA_TYPES_NAMESAKES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// For a number, with or without a unit, that the field being set does not
/// take, and the one field of that name that does: `data.sequence` for
/// `parallel.sequence = 4096`. False where there is none, or several.
bool helpWithNamesake(Evaluator& evaluator, diag::Builder& builder,
                      const Value& value, const Type& type, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_NAMESAKES_H
