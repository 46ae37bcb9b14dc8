// The operands of a condition: what decided its result, and where each value
// came from.

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
  Slot* slot = nullptr; // the field behind it, where there is one
  Object* object = nullptr;
  const ast::Let* let = nullptr; // that it names, and where that stands
  const Env* letEnv = nullptr;
  bool isHidden = false; // a name of the library's own, behind what is written
};

std::vector<Operand> operandsOf(Evaluator& evaluator, ast::ExprId id,
                                const Env& env);
/// Without those that derived operands depend on.
std::vector<Operand> directOperands(Evaluator& evaluator, ast::ExprId id,
                                    const Env& env);

/// The operands that the user set, those to blame first: fields of
/// `preferred`, then the command line, then what is written last.
std::vector<const Operand*> suspects(const Evaluator& evaluator,
                                     const std::vector<Operand>& operands,
                                     const Object* preferred);
/// Whether an operand is a default, which may yet be another value.
bool followsDefaults(const std::vector<Operand>& operands);

/// `` `tp` is 4 ``
std::string operandText(Evaluator& evaluator, const Operand& operand);
/// Says of each operand but `except` where its value came from.
void noteOperands(Evaluator& evaluator, diag::Builder& builder,
                  const std::vector<Operand>& operands, const Slot* except);

/// A number, with or without a unit.
inline bool isNumeric(const Value& value) {
  return value.isNumber() || value.is<recipe::Quantity>();
}

/// Whether the operand is a field that a recipe or the command line gives.
inline bool isUserSet(const Operand& operand) {
  using Kind = recipe::Origin::Kind;
  Kind kind = operand.value.origin.kind;
  return operand.slot && (kind == Kind::written || kind == Kind::commandLine);
}

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_OPERANDS_H
