// Turns expressions into machines.

#ifndef RECIPERUN_GRAMMAR_MACHINEBUILDER_H
#define RECIPERUN_GRAMMAR_MACHINEBUILDER_H

#include "runtime/grammar/Machine.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace reciperun::grammar {

/// Builds the machines of the rules of a grammar. A reference to a small rule
/// without calls is replaced by that rule. The body of a large repetition
/// becomes a rule of its own, which `rules` receives, so that a repetition has
/// one state for each count.
class MachineBuilder {
public:
  /// `rules` must outlive the builder, and every rule has a body.
  explicit MachineBuilder(std::vector<Rule>& rules);

  /// Whether the rule matches the empty text.
  bool isNullable(RuleId rule) const { return nullable[size_t(rule)]; }
  /// The machine of a rule. Fails at the limits of states and rules.
  Expected<Machine> build(RuleId rule);

private:
  struct Size {
    int64_t states = 0;
    bool hasCalls = false;
  };

  void findNullable();
  bool isNullable(const Expression& expression) const;
  Size sizeOf(const ExpressionPtr& expression, int depth);
  Size sizeOfRepeat(const Repeat& repeat, int depth);
  bool isInlined(RuleId rule, int depth);
  Expected<RuleId> ruleOf(const ExpressionPtr& body);

  Status add(const ExpressionPtr& expression, int32_t from, int32_t to);
  Status addCharacter(const CodePointSet& set, int32_t from, int32_t to);
  Status addSequence(const std::vector<ExpressionPtr>& parts, int32_t from,
                     int32_t to);
  Status addRepeat(const Repeat& repeat, int32_t from, int32_t to);
  Status addSeparated(const Separated& list, int32_t from, int32_t to);
  Status addReference(RuleId rule, int32_t from, int32_t to);
  Status addMachine(const Machine& machine, int32_t from, int32_t to);
  Expected<int32_t> addState();
  void addEmpty(int32_t from, int32_t to);

  friend Expected<Machine> machineOf(const ExpressionPtr& expression);

  std::vector<Rule>& rules;
  std::vector<bool> nullable; // by rule
  EmptyEdgeMachine made;
  bool isRegular = false; // calls are not possible: expand everything
  enum class Inlining : uint8_t { unknown, inProgress, yes, no };
  std::vector<Inlining> inlining; // by rule
  std::unordered_map<const Expression*, Size> sizes;
  std::map<ExpressionPtr, RuleId> bodies; // of repetitions
};

/// The deterministic machine of an expression without references. Fails when it
/// is too large.
Expected<Machine> machineOf(const ExpressionPtr& expression);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_MACHINEBUILDER_H
