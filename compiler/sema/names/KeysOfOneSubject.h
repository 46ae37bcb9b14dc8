// Several keys of one record with one cause, which are one error.

#ifndef RECIPEC_SEMA_NAMES_KEYSOFONESUBJECT_H
#define RECIPEC_SEMA_NAMES_KEYSOFONESUBJECT_H

#include "compiler/sema/values/Value.h"

#include <string_view>

namespace recipec::sema {

class Evaluator;

/// The help of AbsentFields.h for a key of a record; empty where it has none,
/// or where the key is another tool's name of a field of the record.
std::string_view insteadOfKey(Evaluator& evaluator, const Schema& schema,
                              const Member& member);

/// `host = "0.0.0.0", port = 8000`: reports all keys of one subject that a
/// recipe does not have at the first of them. False where the member is the
/// only one.
bool reportAbsentSubject(Evaluator& evaluator, const Object& object,
                         const Layer& layer, const Member& member);

/// `jsonl(instruction = "a", input = "b")`: reports arguments that are all
/// names of one field at the first of them. False where the member is the only
/// one.
bool reportArgumentsOfOneField(Evaluator& evaluator, const Object& object,
                               const Layer& layer, const Member& member);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_KEYSOFONESUBJECT_H
