// Checks and reports `require` conditions.
//
// A failed condition is reported at the user's value that is nearest to it. The
// notes give the rule, and every operand that decided the result with its
// origin; see Operands.cpp. Proposed changes are found by trial; see
// Remedies.cpp.

#include "compiler/sema/records/Conditions.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Remedies.h"
#include "compiler/sema/types/Examples.h"
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

/// Splits the remedy, `write ...` after a semicolon, off a message.
std::string cutRemedy(std::string& message) {
  constexpr std::string_view start = "; write ";
  const size_t at = message.rfind(start);
  if (at == message.npos)
    return {};
  std::string remedy = message.substr(at + 2);
  message.resize(at);
  return remedy;
}

/// Helps with a rule that a record needs one of several groups of fields, if
/// none is given: `jsonl(path)` without the fields of its samples.
bool helpWithForms(diag::Builder& builder, const Object& object,
                   std::string_view rule) {
  if (!object.schema || object.schema->fields.empty())
    return false;
  const std::vector<std::string> forms = formsOf(*object.schema);
  std::string first;
  for (const Slot& slot : object.slots) {
    if (!slot.chain.empty() && rule.find(slot.name) != rule.npos)
      return false;
    const std::string* text = slot.value.get<std::string>();
    if (text && slot.field == &object.schema->fields.front())
      first = "\"" + *text + "\"";
  }
  if (forms.size() < 2 || first.empty())
    return false;
  std::vector<std::string> calls;
  for (const std::string& form : forms)
    calls.push_back(std::string(object.schema->shownName()) + "(" + first +
                    form + ")");
  builder.help("write " + joinAlternatives(calls) +
               ", with the names of the file's own fields");
  return true;
}

/// Lists the operands of a rule that are `none` because nobody set them:
/// `` `train.steps` or `train.epochs` ``.
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

/// Helps with operands that the condition requires to be set, as in
/// `valid != none`: proposes each unset one with the example in its field's
/// comment.
void helpWithGiven(diag::Builder& builder, const std::vector<Operand>& operands,
                   std::string_view rule) {
  for (const Operand& operand : operands) {
    const bool isAskedFor =
        operand.slot && operand.object && operand.value.is<recipe::None>() &&
        operand.value.origin.kind == recipe::Origin::Kind::defaultValue &&
        rule.find(operand.text + " != none") != rule.npos;
    const std::string example =
        isAskedFor ? exampleFor(*operand.object, *operand.slot) : std::string();
    if (example.empty())
      continue;
    const std::string setting =
        std::string(operand.slot->name) + " = " + example;
    if (operand.object->key.empty()) {
      builder.propose({"add ", {{"`" + setting + "`", {setting}}}, ""});
      continue;
    }
    builder.help("add `" + std::string(operand.object->key) + " { " +
                 std::string(operand.slot->name) + " = " + example + " }`");
  }
}

/// Helps with two lists that must have the same length. Either can be changed;
/// which elements to add or remove is up to the user.
bool helpWithLengths(diag::Builder& builder,
                     const std::vector<Operand>& operands,
                     std::string_view rule) {
  std::vector<std::pair<const Operand*, size_t>> lists;
  for (const Operand& operand : operands)
    if (const ListValue* const* list = operand.value.get<const ListValue*>();
        list && operand.slot &&
        rule.find("len(" + operand.text + ")") != rule.npos)
      lists.emplace_back(&operand, (*list)->elements.size());
  if (lists.size() != 2 || lists[0].second == lists[1].second)
    return false;
  auto way = [](const Operand& operand, size_t length) {
    return "`" + operand.text + "` " + std::to_string(length) +
           (length == 1 ? " element" : " elements");
  };
  builder.help("give " + way(*lists[0].first, lists[1].second) + ", or " +
               way(*lists[1].first, lists[0].second));
  return true;
}

/// The operand at which the error is reported. This is the first candidate if
/// it is a number or the message names it, else the first operand that the
/// message names and the user set.
const Operand* primaryOf(const std::vector<const Operand*>& candidates,
                         const std::vector<Operand>& operands,
                         const std::string& message) {
  auto isNamed = [&](const Operand& operand) {
    return message.find("`" + operand.text + "`") != message.npos;
  };
  const Operand* first = candidates.empty() ? nullptr : candidates.front();
  if (first && (isNamed(*first) || isNumeric(first->value)))
    return first;
  for (const Operand& operand : operands)
    if (isUserSet(operand) && isNamed(operand) &&
        operand.value.origin.range.isValid())
      return &operand;
  return first;
}

/// Whether all operands that a message names are `none` because nobody set
/// them.
bool namesMissingAlone(const std::vector<Operand>& operands,
                       const std::string& message) {
  bool isAny = false;
  for (const Operand& operand : operands) {
    if (message.find("`" + operand.text + "`") == message.npos)
      continue;
    if (!operand.value.is<recipe::None>() ||
        operand.value.origin.kind != recipe::Origin::Kind::defaultValue)
      return false;
    isAny = true;
  }
  return isAny;
}

/// Whether a rule is a call of a library function. Its name would mean nothing
/// to a user.
bool isCallOfLibrary(Evaluator& evaluator, ast::ExprId condition,
                     const Env& env) {
  const auto* call = std::get_if<ast::Call>(&(*env.file)[condition].node);
  if (!call || !evaluator.isLibrary((*env.file)[condition].range))
    return false;
  return evaluator.evaluate(call->callee, env).is<const Function*>();
}

/// An example for a quantity of 0 or less; empty for other operands.
std::string exampleAboveZero(Evaluator& evaluator, const Operand& operand) {
  const auto* quantity = operand.value.get<recipe::Quantity>();
  const Type* type =
      quantity && quantity->amount <= 0 && operand.slot && operand.object
          ? evaluator.objects.typeOf(*operand.object, *operand.slot)
          : nullptr;
  for (const Type* each :
       type ? alternativesOf(*type) : std::vector<const Type*>())
    if (each->kind == Type::Kind::quantity && each->unit == quantity->unit)
      return operand.text + " = " + exampleOf(evaluator, *each);
  return {};
}

/// Whether a rule is a single comparison, `steps < 1000`, which reads like an
/// instruction. Conditions with `or` or `none` do not.
bool isComparison(std::string_view rule) {
  for (std::string_view part : {" or ", " and ", "not ", "if ", "none", "\n"})
    if (rule.find(part) != rule.npos)
      return false;
  return rule.find_first_of("<>=") != rule.npos;
}

void reportFailed(Evaluator& evaluator, Object& object, size_t layerIndex,
                  const ast::Require& require, SourceRange range,
                  const Env& env) {
  std::vector<Operand> operands = operandsOf(evaluator, require.condition, env);
  std::vector<const Operand*> candidates =
      suspects(evaluator, operands, &object);
  std::string message = requireMessage(evaluator, require, env);
  const std::string remedy = cutRemedy(message);
  const Operand* primary = primaryOf(candidates, operands, message);
  // If the message is only about unset fields, report at the record and not at
  // another field.
  if (primary && !isNumeric(primary->value) && !primary->let &&
      namesMissingAlone(operands, message))
    primary = nullptr;
  const Trial trial{object, layerIndex, require, operands};
  Remedies remedies(evaluator, trial);
  std::vector<diag::Proposal> proposals =
      remedies.proposals(candidates, primary);
  SourceRange ruleRange = (*env.file)[require.condition].range;
  std::string rule(evaluator.sources.text(ruleRange));
  const bool isShownRule = rule.find('\n') == rule.npos &&
                           !isCallOfLibrary(evaluator, require.condition, env);
  auto builder = evaluator.messages.report(
      diag::Kind::RequireFailed,
      primary ? primary->value.origin.range : object.range, message);
  // Omit the label if the excerpt shows the value anyway.
  bool isShown =
      primary && evaluator.sources.text(primary->value.origin.range)
                         .find(describe(evaluator, primary->value)) !=
                     std::string_view::npos;
  if (primary && !isShown)
    builder.label(operandText(evaluator, *primary));
  builder.note(isShownRule ? "required by `" + rule + "`"
                           : "required by this condition",
               evaluator.isLibrary(range) ? range : ruleRange);
  noteOperands(evaluator, builder, operands, primary ? primary->slot : nullptr);
  helpWithGiven(builder, operands, rule);
  if (!remedy.empty())
    builder.help(remedy);
  if (!remedy.empty() || helpWithLengths(builder, operands, rule) ||
      helpWithForms(builder, object, rule))
    proposals.clear();
  if (std::string missing = missingOf(remedies, operands, rule);
      !missing.empty())
    builder.otherwise("give " + missing);
  else if (primary && operands.size() == 1 && isNumeric(primary->value) &&
           isComparison(rule))
    builder.otherwise("give `" + primary->text + "` a value so that `" + rule +
                      "`");
  else if (const std::string example =
               primary ? exampleAboveZero(evaluator, *primary) : "";
           !example.empty())
    builder.otherwise("write a number above 0, say `" + example + "`");
  for (diag::Proposal& proposal : proposals)
    builder.propose(std::move(proposal));
  // Values computed from these operands would only repeat the mistake.
  for (const Operand& operand : operands)
    if (operand.slot && isNumeric(operand.value))
      operand.slot->value = poison();
}

} // namespace

void checkCondition(Evaluator& evaluator, Object& object, size_t layerIndex,
                    const ast::Require& require, SourceRange range) {
  const Env* env =
      layerIndex == checkOwnSchema
          ? evaluator.objects.schemaScope(object)
          : evaluator.objects.scopeOf(object, *object.layers[layerIndex]);
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
  // An operand is poison because another condition has already failed.
  bool isConsequence =
      std::any_of(operands.begin(), operands.end(),
                  [](const Operand& each) { return each.value.isPoison(); });
  bool isOpen = evaluator.isPartial && followsDefaults(operands);
  if (!isConsequence && !isOpen)
    reportFailed(evaluator, object, layerIndex, require, range, *env);
}

} // namespace recipec::sema
