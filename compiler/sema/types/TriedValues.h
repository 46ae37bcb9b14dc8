// Proposes values for the field that is being set. The driver compiles the
// recipe with each value before it prints it.

#ifndef RECIPEC_SEMA_TYPES_TRIEDVALUES_H
#define RECIPEC_SEMA_TYPES_TRIEDVALUES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// The path from the recipe to the field that is being set; empty for a field
/// of a record that is in no recipe.
std::string pathBeingSet(const Evaluator& evaluator);

// Each function adds proposals. `otherwise` is the help that is printed if
// every proposed value leaves an error.

/// Proposes numbers for the field that is being set, after the text `before`.
/// Returns false if the field does not belong to a recipe.
bool proposeNumbers(Evaluator& evaluator, diag::Builder& builder,
                    const std::string& before, const std::string& otherwise);

/// Proposes `choices`, as a recipe writes them (`"bf16"`). Returns false if the
/// field that is being set does not have the type `type` or does not belong to
/// a recipe.
bool proposeChoices(Evaluator& evaluator, diag::Builder& builder,
                    const std::vector<std::string>& choices, const Type& type,
                    const std::string& otherwise);

/// For a quotient of two sizes of one record, `hidden / heads`, that is not a
/// whole number: proposes the nearest sizes that divide without a remainder.
void proposeSizes(Evaluator& evaluator, diag::Builder& builder,
                  const std::string& quotient, const std::string& otherwise);

/// For `ranks / 3`, written at `range`, whose value has a fraction: proposes
/// the rounded quotient, or another divisor.
void proposeWhole(const Evaluator& evaluator, diag::Builder& builder,
                  double value, SourceRange range,
                  const std::string& otherwise);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_TRIEDVALUES_H
