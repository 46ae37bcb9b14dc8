// The operands of a condition: the values that decided its result, and the
// origin of each.

#ifndef RECIPEC_SEMA_RECORDS_OPERANDS_H
#define RECIPEC_SEMA_RECORDS_OPERANDS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// A part of a condition whose value explains the result.
struct Operand {
  std::string text; // as written
  Value value;
  Slot* slot = nullptr; // the field it refers to, if any
  Object* object = nullptr;
  const ast::Let* let = nullptr; // the `let` it refers to, if any
  const Env* letEnv = nullptr;   // the scope of the `let`
  bool isHidden = false; // left out of notes: a name internal to the library
};

std::vector<Operand> operandsOf(Evaluator& evaluator, ast::ExprId id,
                                const Env& env);
/// The scalar operands in the condition's text. Leaves out the operands that
/// derived ones depend on.
std::vector<Operand> directOperands(Evaluator& evaluator, ast::ExprId id,
                                    const Env& env);

/// The operands that the user set, the likeliest mistake first: those of the
/// recipe at hand, not of a parent; fields of `preferred`; values from the
/// command line; the last ones written.
std::vector<const Operand*> suspects(const Evaluator& evaluator,
                                     const std::vector<Operand>& operands,
                                     const Object* preferred);
/// Whether an operand has its default value, which may still change.
bool followsDefaults(const std::vector<Operand>& operands);

/// `` `tp` is 4 ``
std::string operandText(Evaluator& evaluator, const Operand& operand);
/// Adds a note about the origin of each operand's value, except for `except`.
void noteOperands(Evaluator& evaluator, diag::Builder& builder,
                  const std::vector<Operand>& operands, const Slot* except);

/// Whether the value is a number, with or without a unit.
inline bool isNumeric(const Value& value) {
  return value.isNumber() || value.is<recipe::Quantity>();
}

/// Whether the operand is a field that a recipe or the command line sets.
inline bool isUserSet(const Operand& operand) {
  using Kind = recipe::Origin::Kind;
  Kind kind = operand.value.origin.kind;
  return operand.slot && (kind == Kind::written || kind == Kind::commandLine);
}

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_OPERANDS_H
