// Helps for a count of tokens where another one is due.

#ifndef RECIPEC_SEMA_TYPES_COUNTS_H
#define RECIPEC_SEMA_TYPES_COUNTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::sema {

class Evaluator;

/// `global = 4M tokens`, where the comment of the field that is being set says
/// that it counts something else: proposes how many sequences these are. False
/// for other fields and units.
bool helpWithSequences(Evaluator& evaluator, diag::Builder& builder,
                       const recipe::Quantity& given);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_COUNTS_H
