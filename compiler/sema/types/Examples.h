// Example values of a type, as a recipe writes them, for helps.

#ifndef RECIPEC_SEMA_TYPES_EXAMPLES_H
#define RECIPEC_SEMA_TYPES_EXAMPLES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// `` `1`, `2` or `4` ``
std::string joinAlternatives(const std::vector<std::string>& names);

/// An example value of the type; empty when there is none.
std::string exampleOf(Evaluator& evaluator, const Type& type);
/// A record with its required fields: `cosine(peak = 1e-4)`. The text uses
/// `name` for the schema.
std::string exampleOf(Evaluator& evaluator, const Schema& schema,
                      const std::string& name);
/// The default of the field that is being set, when `type` accepts it: a
/// schedule's `peak` is a learning rate, like `lr`.
std::string defaultAsExample(Evaluator& evaluator, const Type& type);
/// The example in the comment of a field's declaration, with the recipe's name
/// in place of `{name}`; empty if the comment has none.
std::string exampleFor(const Object& object, const Slot& slot);
/// The arguments that a call has to give after the first field, one form per
/// line after "Written with" in the schema's comment. A schema without such
/// lines has one empty form.
std::vector<std::string> formsOf(const Schema& schema);

/// Writes a record of `schema`: the user's values for fields that both schemas
/// have, and examples for the other required fields. Empty if the user set none
/// of the fields.
std::string recordLike(Evaluator& evaluator, Object& given,
                       const Schema& schema);
/// The choice that a record has to make, as the end of a help:
/// `` ; its `kind` is `"llama3"` or `"linear"` ``. Empty unless `type` takes
/// records of exactly one schema and that schema has such a field.
std::string choiceFor(Evaluator& evaluator, const Type& type);
/// Helps with a record of the wrong schema, if `type` takes records of one
/// schema only: proposes a record of that schema with the fields that the user
/// has set.
bool helpWithOtherRecord(Evaluator& evaluator, diag::Builder& builder,
                         const Value& value, const Type& type,
                         SourceRange range);

/// A record of `type` made from the number that the user wrote at `range`:
/// `normal(std = 0.02)` for `0.02`. Empty unless `type` is a schema whose only
/// required field accepts the number.
std::string madeOfNumber(Evaluator& evaluator, const Value& value,
                         const Type& type, SourceRange range);

/// Adds a help with the description and the example from the comment of the
/// field that is being set. Returns false if the comment lacks either.
bool helpWithDocumented(Evaluator& evaluator, diag::Builder& builder,
                        const Value& value, const Type& type);

/// Helps with a fraction in a field of bytes, `cache = 0.9`: proposes the field
/// of the same record that takes fractions and that the bytes field's comment
/// names. Returns false if there is no such field.
bool helpWithShare(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, SourceRange range);

/// Adds a help for a size or a time written as a plain number at `range`: `8G`
/// gets the missing `B`; `30` is shown with several units.
void helpWithUnit(Evaluator& evaluator, diag::Builder& builder,
                  const Type& quantity, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_EXAMPLES_H
