// Helps where a record of a source of data is due.

#ifndef RECIPEC_SEMA_TYPES_SOURCES_H
#define RECIPEC_SEMA_TYPES_SOURCES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// The call that makes a source of a path, by the path's ending:
/// `tokens("a.bin")`. Without an ending it is the prefix of token files.
std::string sourceCall(const std::string& path);

/// Helps with a list where the name of one field of a file is due, as several
/// columns of a prompt.
bool helpWithFieldNames(Evaluator& evaluator, diag::Builder& builder,
                        const Value& value);

/// Whether a field takes the name of a field of a file, as its comment says.
bool namesFieldOfFile(const Object& object, const Slot& slot);

/// For a list in which weights and sources alternate, as Megatron lists its
/// data, `[0.7, "a", 0.3, "b"]`: the record of `schema`, whose first field is
/// the list of sources, with a list of each. Empty for other lists and schemas.
std::string blendOfPairs(Evaluator& evaluator, const Value& list,
                         const Schema& schema);
/// Helps with such a list in the record itself, `blend([0.7, "a", 0.3, "b"])`.
bool helpWithBlend(Evaluator& evaluator, diag::Builder& builder,
                   const Value& list);

/// Helps with a path in place of a record, `"train.jsonl"`, and with a list of
/// records in place of the one that holds them. False for other values.
bool helpWithSources(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, const Type& type, SourceRange range);

/// Helps with a list of paths in a record that names one file, where the field
/// around it takes several such records as a blend.
bool helpWithSeveralFiles(Evaluator& evaluator, diag::Builder& builder,
                          const Value& value, const Type& type,
                          SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_SOURCES_H
