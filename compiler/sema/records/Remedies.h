// Finds changes that make a failed condition hold, by trial on copies of the
// recipe's record.

#ifndef RECIPEC_SEMA_RECORDS_REMEDIES_H
#define RECIPEC_SEMA_RECORDS_REMEDIES_H

#include "compiler/sema/records/Operands.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::sema {

/// A failed condition of a record or of one of its layers.
struct Trial {
  Object& object;
  size_t layerIndex; // or checkOwnSchema
  const ast::Require& require;
  const std::vector<Operand>& operands;
};

class Remedies {
public:
  Remedies(Evaluator& evaluator, const Trial& trial)
      : evaluator(evaluator), trial(trial) {}

  /// The changes to propose. `primary` starts as the likeliest mistake among
  /// `candidates`, and becomes the first candidate whose change helps.
  std::vector<diag::Proposal>
  proposals(const std::vector<const Operand*>& candidates,
            const Operand*& primary);
  /// Whether setting an unset field may make the condition hold.
  bool mayBeMissed(const Operand& operand);

private:
  std::optional<diag::Proposal> remedy(const Operand& operand);
  std::optional<diag::Proposal> listOfRange(const Operand& operand);
  std::optional<diag::Proposal>
  leaveOut(const std::vector<const Operand*>& candidates);
  std::optional<diag::Proposal>
  undoInherited(const std::vector<const Operand*>& optional);
  std::vector<Value> helpfulValues(const Operand& operand);
  std::vector<Value> nearestValues(const Operand& operand, int64_t current);
  std::vector<Value> nearestBound(const Operand& operand, double current);
  std::vector<Value> documentedValue(const Operand& operand);
  std::vector<Value> withoutSigns(const Operand& operand);
  std::vector<Value> aboveZero(const Operand& operand, double current);
  std::vector<Value> otherValues(const Operand& operand);
  std::vector<Value> scaledValues(const Operand& operand, double current);
  std::vector<Value> doubledValues(const Operand& operand,
                                   recipe::Quantity current);
  std::vector<Value> evenLists(const Operand& operand);
  std::vector<Value> beginningOf(const Operand& operand);
  std::vector<Value> defaultValue(const Operand& operand);
  diag::WayOut wayOut(const Operand& operand, const Value& value,
                      std::string text);

  bool canBeTried(const Operand& operand) const;
  bool standsAlone(const Operand& operand) const;
  std::string_view ruleText() const;
  bool holds(const ast::Require& require, const Env& env);
  bool holdsWith(const Operand& operand, const Value& value);

  Evaluator& evaluator;
  const Trial& trial;
  bool isScaled = false; // the last values found are what was meant
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_REMEDIES_H
