// Several keys of one record with one cause, which are one error.

#ifndef RECIPEC_SEMA_NAMES_KEYSOFONESUBJECT_H
#define RECIPEC_SEMA_NAMES_KEYSOFONESUBJECT_H

#include "compiler/sema/values/Value.h"

#include <string_view>

namespace recipec::sema {

class Evaluator;

/// The help of AbsentFields.h for a key of a record; empty if there is none, or
/// if the key is another tool's name for a field of the record.
std::string_view insteadOfKey(Evaluator& evaluator, const Schema& schema,
                              const Member& member);

/// Reports all keys with the same help, `host = "0.0.0.0", port = 8000`, as one
/// error at the first of them. Returns false if `member` is the only such key.
bool reportAbsentSubject(Evaluator& evaluator, const Object& object,
                         const Layer& layer, const Member& member);

/// Reports arguments that are all other names of one field,
/// `jsonl(instruction = "a", input = "b")`, as one error at the first of them.
/// Returns false if `member` is the only such argument.
bool reportArgumentsOfOneField(Evaluator& evaluator, const Object& object,
                               const Layer& layer, const Member& member);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_KEYSOFONESUBJECT_H
