// Help that keeps what the user meant by a value of another type.

#ifndef RECIPEC_SEMA_TYPES_INTENT_H
#define RECIPEC_SEMA_TYPES_INTENT_H

#include "compiler/sema/types/Quotation.h"

namespace recipec::sema {

class Evaluator;

/// Looks up `value`, written at `range`, among the values of other tools in the
/// comment of the field that is being set, and suggests our equivalent. If that
/// sets another field (`compute = "fp8"`), it replaces the whole assignment.
std::optional<Suggestion>
valueOfOtherTools(Evaluator& evaluator, const Value& value, SourceRange range);

/// The reason why the field that is being set has no counterpart for the value
/// that another tool calls `given`, from the field's comment; empty if the
/// comment gives none.
std::string whyNoValue(const Evaluator& evaluator, const std::string& given);

// Each of these functions adds a help for a value that does not fit `type`, and
// returns false if it has none.

/// `2G tokens` for `2B`, which is two bytes.
bool helpWithCount(Evaluator& evaluator, diag::Builder& builder,
                   const recipe::Quantity& given, const Type& type,
                   SourceRange range);
/// For `0.03 steps`: the plain fraction if the field takes one, otherwise the
/// nearest whole numbers below and above.
bool helpWithWhole(Evaluator& evaluator, diag::Builder& builder,
                   const recipe::Quantity& given, const Type& type,
                   SourceRange range);
/// `eos_token = [1, 2]`: proposes the first element, and says where the field's
/// comment tells to set several.
bool helpWithSeveral(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, const Type& type, SourceRange range);
/// `parallel.tp = [1, 2]`: several values of one field are a sweep.
bool helpWithSweep(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, const Type& type, SourceRange range);
/// `auto` for a field that is not derived: names the field's default, or says
/// that it has none.
bool helpWithoutAuto(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value);
/// `model = { layers = 4 }` in a recipe whose parent sets the model: a record
/// is amended without `=`.
bool helpWithoutSign(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, SourceRange range);

/// Helps with a quotient that leaves a remainder. For two dimensions, such as
/// `hidden / heads`, proposes other sizes; otherwise proposes to round.
void helpWithFraction(Evaluator& evaluator, diag::Builder& builder,
                      double value, const Type& type, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_INTENT_H
