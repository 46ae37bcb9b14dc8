// `require`: what does not hold, and why.
//
// A failed condition is reported at the user's value that is nearest to it. The
// notes give the rule and every operand that decided the result, with where its
// value came from; see Operands.cpp. What is proposed is found by trial; see
// Remedies.cpp.

#include "compiler/sema/records/Conditions.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Remedies.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>

namespace recipec::sema {

namespace {

std::string requireMessage(Evaluator& evaluator, const ast::Require& require,
                           const Env& env) {
  if (require.message != ast::ExprId::none) {
    Value message = evaluator.evaluate(require.message, env);
    if (const std::string* text = message.get<std::string>())
      return *text;
  }
  SourceRange range = (*env.file)[require.condition].range;
  return "`" + std::string(evaluator.sources.text(range)) + "` does not hold";
}

/// `` `train.steps` or `train.epochs` ``: the operands of a rule that are
/// `none` because nobody set them.
std::string missingOf(Remedies& remedies, const std::vector<Operand>& operands,
                      std::string_view rule) {
  std::vector<std::string> names, others;
  for (const Operand& operand : operands)
    if (operand.slot && operand.value.is<recipe::None>() &&
        rule.find(operand.text) != rule.npos &&
        operand.value.origin.kind == recipe::Origin::Kind::defaultValue)
      (remedies.mayBeMissed(operand) ? names : others)
          .push_back("`" + operand.text + "`");
  if (names.empty())
    names = std::move(others);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

void reportFailed(Evaluator& evaluator, Object& object, size_t layerIndex,
                  const ast::Require& require, SourceRange range,
                  const Env& env) {
  std::vector<Operand> operands = operandsOf(evaluator, require.condition, env);
  std::vector<const Operand*> candidates =
      suspects(evaluator, operands, &object);
  const Operand* primary = candidates.empty() ? nullptr : candidates.front();
  const Trial trial{object, layerIndex, require, operands};
  Remedies remedies(evaluator, trial);
  std::vector<diag::Proposal> proposals =
      remedies.proposals(candidates, primary);
  SourceRange ruleRange = (*env.file)[require.condition].range;
  std::string rule(evaluator.sources.text(ruleRange));
  bool isOneLine = rule.find('\n') == std::string::npos;
  auto builder = evaluator.messages.report(
      diag::Kind::RequireFailed,
      primary ? primary->value.origin.range : object.range,
      requireMessage(evaluator, require, env));
  // What the excerpt shows anyway needs no words.
  bool isShown =
      primary && evaluator.sources.text(primary->value.origin.range)
                         .find(describe(evaluator, primary->value)) !=
                     std::string_view::npos;
  if (primary && !isShown)
    builder.label(operandText(evaluator, *primary));
  builder.note(isOneLine ? "required by `" + rule + "`"
                         : "required by this condition",
               evaluator.isLibrary(range) ? range : ruleRange);
  noteOperands(evaluator, builder, operands, primary ? primary->slot : nullptr);
  if (std::string missing = missingOf(remedies, operands, rule);
      !missing.empty())
    builder.otherwise("give " + missing);
  else if (primary && operands.size() == 1 && isNumeric(primary->value))
    builder.otherwise("give `" + primary->text + "` a value so that `" + rule +
                      "`");
  for (diag::Proposal& proposal : proposals)
    builder.propose(std::move(proposal));
  // What is computed from these would only repeat the mistake.
  for (const Operand& operand : operands)
    if (operand.slot && isNumeric(operand.value))
      operand.slot->value = poison();
}

} // namespace

void checkCondition(Evaluator& evaluator, Object& object, size_t layerIndex,
                    const ast::Require& require, SourceRange range) {
  const Env* env = layerIndex == checkOwnSchema
                       ? evaluator.schemaScope(object)
                       : evaluator.scopeOf(object, *object.layers[layerIndex]);
  std::optional<bool> holds;
  {
    Messages::Derivation derivation(evaluator.messages, object, nullptr,
                                    require.condition);
    holds = evaluator.condition(require.condition, *env,
                                "the condition of `require`");
  }
  if (!holds || *holds || object.hasUnknownKey)
    return;
  std::vector<Operand> operands =
      operandsOf(evaluator, require.condition, *env);
  // Derived from what another condition has refused.
  bool isConsequence =
      std::any_of(operands.begin(), operands.end(),
                  [](const Operand& each) { return each.value.isPoison(); });
  bool isOpen = evaluator.isPartial && followsDefaults(operands);
  if (!isConsequence && !isOpen)
    reportFailed(evaluator, object, layerIndex, require, range, *env);
}

} // namespace recipec::sema
