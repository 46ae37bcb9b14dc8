// Help that keeps what the user meant by a value of another type.

#ifndef RECIPEC_SEMA_TYPES_INTENT_H
#define RECIPEC_SEMA_TYPES_INTENT_H

#include "compiler/sema/types/Quotation.h"

namespace recipec::sema {

class Evaluator;

/// What the comment of the field that is given `value`, written at `range`,
/// says that this value of another tool is here. A setting of another field,
/// `compute = "fp8"`, takes the place of the whole assignment.
std::optional<Suggestion>
valueOfOtherTools(Evaluator& evaluator, const Value& value, SourceRange range);

/// Why no value of the field that is being set is what another tool calls
/// `given`, as its comment says; empty where it does not say so.
std::string whyNoValue(const Evaluator& evaluator, const std::string& given);

// Each adds a help for a value that does not fit `type`; false where it has
// none.

/// `2G tokens` for `2B`, which is two bytes.
bool helpWithCount(Evaluator& evaluator, diag::Builder& builder,
                   const recipe::Quantity& given, const Type& type,
                   SourceRange range);
/// For `0.03 steps` the fraction, where the field takes one; else the whole
/// numbers beside it.
bool helpWithWhole(Evaluator& evaluator, diag::Builder& builder,
                   const recipe::Quantity& given, const Type& type,
                   SourceRange range);
/// `eos_token = [1, 2]`: one of them, and where several are set, as the comment
/// of the field says.
bool helpWithSeveral(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, const Type& type, SourceRange range);
/// `parallel.tp = [1, 2]`: several values of one field are a sweep.
bool helpWithSweep(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, const Type& type, SourceRange range);
/// `auto` for a field that is not derived: its default, or that it has none.
bool helpWithoutAuto(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value);
/// `model = { layers = 4 }` in a recipe whose parent sets the model: a record
/// is amended without `=`.
bool helpWithoutSign(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, SourceRange range);

/// Helps with a quotient that leaves a remainder. That of two dimensions, such
/// as `hidden / heads`, is a matter of their sizes; any other is rounded.
void helpWithFraction(Evaluator& evaluator, diag::Builder& builder,
                      double value, const Type& type, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_INTENT_H
