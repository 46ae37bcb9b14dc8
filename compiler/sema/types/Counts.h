// Helps for a number of tokens in a field that counts something else.

#ifndef RECIPEC_SEMA_TYPES_COUNTS_H
#define RECIPEC_SEMA_TYPES_COUNTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::sema {

class Evaluator;

/// Helps with `global = 4M tokens` if the comment of the field says that it
/// does not count tokens: proposes the number of sequences. Returns false for
/// other fields and units.
bool helpWithSequences(Evaluator& evaluator, diag::Builder& builder,
                       const recipe::Quantity& given);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_COUNTS_H
