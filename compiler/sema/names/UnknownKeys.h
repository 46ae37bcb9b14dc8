// Fields that a record does not have.

#ifndef RECIPEC_SEMA_NAMES_UNKNOWNKEYS_H
#define RECIPEC_SEMA_NAMES_UNKNOWNKEYS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Reports that the schema of `object` lacks the field named by `member`, a
/// member of one of its layers. Adds help for what was meant.
void reportUnknownKey(Evaluator& evaluator, const Object& object,
                      const Layer& layer, const Member& member);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_UNKNOWNKEYS_H
