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
/// What the comment of a field's declaration writes as an example, with what
/// the recipe is called in the place of `{name}`; empty where it has none.
std::string exampleFor(const Object& object, const Slot& slot);
/// What has to stand behind the first field of a schema, as its comment says
/// line by line behind "Written with"; one empty form where nothing has to.
std::vector<std::string> formsOf(const Schema& schema);

/// A record of `schema` with the fields of another one that it has, too, and
/// examples for further required ones. Empty where none is set.
std::string recordLike(Evaluator& evaluator, Object& given,
                       const Schema& schema);
/// `` ; its `kind` is `"llama3"` or `"linear"` `` for a type that takes records
/// of one schema with such a choice; empty for others.
std::string choiceFor(Evaluator& evaluator, const Type& type);
/// For a record of another schema, where `type` takes records of one: such a
/// record with the fields that the user has set.
bool helpWithOtherRecord(Evaluator& evaluator, diag::Builder& builder,
                         const Value& value, const Type& type,
                         SourceRange range);

/// The record of `type` whose one required field is the number that the user
/// wrote at `range`: `normal(std = 0.02)` for `0.02`. Empty where the type is
/// none of such records.
std::string madeOfNumber(Evaluator& evaluator, const Value& value,
                         const Type& type, SourceRange range);

/// Adds what the comment of the field that is being set says that it is, with
/// the comment's example; false where it has none.
bool helpWithDocumented(Evaluator& evaluator, diag::Builder& builder,
                        const Value& value, const Type& type);

/// For a fraction in a field of bytes, `cache = 0.9`: the field of the same
/// record that takes fractions and that the comment of the other one names.
/// False where there is none.
bool helpWithShare(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, SourceRange range);

/// Adds the help for a size or a time that was written as a plain number at
/// `range`: `8G` gets the letter that is missing, `30` may be of several units.
void helpWithUnit(Evaluator& evaluator, diag::Builder& builder,
                  const Type& quantity, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_EXAMPLES_H
