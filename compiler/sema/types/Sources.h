// Helps for a value in place of a data source's record.

#ifndef RECIPEC_SEMA_TYPES_SOURCES_H
#define RECIPEC_SEMA_TYPES_SOURCES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// The call that makes a source from a path, chosen by the file's extension:
/// `tokens("a.bin")`. A path without an extension is a prefix of token files.
std::string sourceCall(const std::string& path);

/// Helps with a list of names where a field takes the name of one field of the
/// data file, such as several columns for a prompt.
bool helpWithFieldNames(Evaluator& evaluator, diag::Builder& builder,
                        const Value& value);

/// Whether a field takes the name of a field of a file, as its comment says.
bool namesFieldOfFile(const Object& object, const Slot& slot);

/// Converts a list in which weights and sources alternate, as in Megatron's
/// `[0.7, "a", 0.3, "b"]`, to a record of `schema` with a list of sources and a
/// list of weights. `schema` must have a list of sources as its first field.
/// Empty for other lists and schemas.
std::string blendOfPairs(Evaluator& evaluator, const Value& list,
                         const Schema& schema);
/// Helps with such a list as the argument of the record:
/// `blend([0.7, "a", 0.3, "b"])`.
bool helpWithBlend(Evaluator& evaluator, diag::Builder& builder,
                   const Value& list);

/// Helps with a path in place of a source record, `"train.jsonl"`, and with a
/// list of records in place of a blend of them. Returns false for other values.
bool helpWithSources(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, const Type& type, SourceRange range);

/// Helps with a list of paths in a record that takes one file, if the enclosing
/// field also takes a blend of such records.
bool helpWithSeveralFiles(Evaluator& evaluator, diag::Builder& builder,
                          const Value& value, const Type& type,
                          SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_SOURCES_H
