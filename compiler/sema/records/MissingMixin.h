// Mixins of the library that set what a recipe lacks.

#ifndef RECIPEC_SEMA_RECORDS_MISSINGMIXIN_H
#define RECIPEC_SEMA_RECORDS_MISSINGMIXIN_H

#include "compiler/diag/Diagnostic.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// Helps a recipe that answers prompts and lacks the field at `path`, which
/// only training uses: names the library's mixin that sets it.
bool helpWithServingMixin(Evaluator& evaluator, diag::Builder& builder,
                          const std::string& path);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_MISSINGMIXIN_H
