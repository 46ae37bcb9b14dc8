// Values for the field that is being set, each of which the driver tries before
// it prints it.

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

// Each adds proposals; `otherwise` is the help where none of them leaves no
// error.

/// Proposes numbers for the field of a recipe that is being set, behind
/// `before`. False for fields of other records.
bool proposeNumbers(Evaluator& evaluator, diag::Builder& builder,
                    const std::string& before, const std::string& otherwise);

/// Proposes all of the choices of `type` that leave no error, as a recipe
/// writes them: `"bf16"`. False where the field that is being set is of another
/// type, or of no recipe.
bool proposeChoices(Evaluator& evaluator, diag::Builder& builder,
                    const std::vector<std::string>& choices, const Type& type,
                    const std::string& otherwise);

/// For the quotient of two sizes of one record, `hidden / heads`, that is no
/// whole number: the nearest sizes whose quotient is one.
void proposeSizes(Evaluator& evaluator, diag::Builder& builder,
                  const std::string& quotient, const std::string& otherwise);

/// For `ranks / 3`, written at `range`, whose value has a fraction: the value
/// rounded, or else another divisor.
void proposeWhole(const Evaluator& evaluator, diag::Builder& builder,
                  double value, SourceRange range,
                  const std::string& otherwise);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_TRIEDVALUES_H
