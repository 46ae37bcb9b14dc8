// What the checking of a condition and the search for remedies share.

#ifndef RECIPEC_SEMA_RECORDS_TRIAL_H
#define RECIPEC_SEMA_RECORDS_TRIAL_H

#include "compiler/sema/Evaluator.h"

namespace recipec::sema {

/// A condition that failed, of a record or of one of its layers.
struct Evaluator::Trial {
  Object& object;
  size_t layerIndex;
  const ast::Require& require;
  const std::vector<Operand>& operands;
};

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

#endif // RECIPEC_SEMA_RECORDS_TRIAL_H
