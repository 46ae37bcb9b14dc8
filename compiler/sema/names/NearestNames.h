// Functions and ops by their descriptions: what an unknown name in a call may
// mean that is no misspelling.

#ifndef RECIPEC_SEMA_NAMES_NEARESTNAMES_H
#define RECIPEC_SEMA_NAMES_NEARESTNAMES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// Names the one or two functions of the language, schemas that every file
/// sees and, in a block, ops that are nearest to an unknown name which is
/// called. False if none is clearly nearer than the rest.
bool helpWithNearestName(Evaluator& evaluator, diag::Builder& builder,
                         const std::string& name, bool isInBlock);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_NEARESTNAMES_H
