// The operands of a condition: the values that decided its result, and the
// origin of each.
//
// 1. Collect the names that the condition reads, and evaluate them.
// 2. Add the operands of derived fields, and of the library's names for parts
//    of a rule.
// 3. Order the operands that the user set by how likely each is the mistake.

#include "compiler/sema/records/Operands.h"

#include "compiler/base/Text.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>

namespace recipec::sema {
namespace {

constexpr std::string_view outerPrefix = "outer.";
/// Defaults further from the condition than this are not shown.
constexpr size_t deepestDefault = 2;

/// Whether a note can describe the operand's value in a few words.
bool isShownAsOperand(const Operand& operand) {
  return operand.value.isScalar() || operand.slot;
}

/// The branch of a conditional that was taken, also through nested
/// conditionals.
ast::ExprId decidedPart(Evaluator& evaluator, ast::ExprId id, const Env& env) {
  while (auto* choice = std::get_if<ast::Conditional>(&(*env.file)[id].node)) {
    Value condition = evaluator.evaluate(choice->condition, env);
    const bool* holds = condition.get<bool>();
    if (!holds)
      break;
    id = *holds ? choice->thenValue : choice->elseValue;
  }
  return id;
}

/// Finds the slot or `let` to which a name or member expression refers.
void findOperand(Evaluator& evaluator, ast::ExprId id, const Env& env,
                 Operand& operand) {
  const auto& node = (*env.file)[id].node;
  if (auto* member = std::get_if<ast::Member>(&node)) {
    Value base = evaluator.evaluate(member->base, env);
    Object* const* object = base.get<Object*>();
    if (!object)
      return;
    operand.object = *object;
    operand.slot = (*object)->find(member->member.text);
    return;
  }
  auto* ref = std::get_if<ast::NameRef>(&node);
  if (!ref)
    return;
  Binding binding = evaluator.lookup.findBinding(ref->name.text, env);
  if (binding.slot) {
    operand.object = binding.env->object;
    operand.slot = binding.slot;
  } else if (binding.let) {
    if (!operand.let) {
      operand.let = binding.let;
      operand.letEnv = binding.env;
    }
    findOperand(evaluator,
                decidedPart(evaluator, binding.let->value, *binding.env),
                *binding.env, operand);
  }
}

void addOperand(Evaluator& evaluator, ast::ExprId id, const Env& env,
                std::vector<Operand>& operands) {
  Operand operand;
  operand.text = std::string(evaluator.sources.text((*env.file)[id].range));
  operand.value = evaluator.evaluate(id, env);
  findOperand(evaluator, id, env, operand);
  // A library `let` for another record's field is internal to the library, so
  // show the field's path.
  const bool isAlias =
      operand.let && evaluator.isLibrary(operand.let->name.range);
  if ((operand.text.starts_with(outerPrefix) || isAlias) && operand.slot)
    operand.text = evaluator.pathOf(*operand.object, operand.slot->name);
  bool isKnown =
      std::any_of(operands.begin(), operands.end(), [&](const Operand& other) {
        return other.text == operand.text ||
               (other.slot && other.slot == operand.slot);
      });
  bool isShown = operand.value.isScalar() || operand.value.isPoison() ||
                 (operand.slot && operand.value.is<const ListValue*>());
  if (!isKnown && (isShown || operand.let))
    operands.push_back(std::move(operand));
}

void collectOperands(Evaluator& evaluator, ast::ExprId id, const Env& env,
                     std::vector<Operand>& operands) {
  const ast::Expr& expr = (*env.file)[id];
  auto collect = [&](ast::ExprId part) {
    collectOperands(evaluator, part, env, operands);
  };
  bool isLeaf = std::holds_alternative<ast::NameRef>(expr.node) ||
                std::holds_alternative<ast::Member>(expr.node);
  if (isLeaf) {
    addOperand(evaluator, id, env, operands);
  } else if (auto* unary = std::get_if<ast::Unary>(&expr.node)) {
    collect(unary->operand);
  } else if (auto* test = std::get_if<ast::TypeTest>(&expr.node)) {
    collect(test->operand);
  } else if (auto* binary = std::get_if<ast::Binary>(&expr.node)) {
    collect(binary->left);
    bool isAnd = binary->op == ast::BinaryOp::logicalAnd;
    if (isAnd || binary->op == ast::BinaryOp::logicalOr) {
      // A side that was not evaluated did not decide the result.
      Value left = evaluator.evaluate(binary->left, env);
      const bool* decided = left.get<bool>();
      if (!decided || *decided != isAnd)
        return;
    }
    collect(binary->right);
  } else if (auto* conditional = std::get_if<ast::Conditional>(&expr.node)) {
    collect(conditional->condition);
    Value condition = evaluator.evaluate(conditional->condition, env);
    if (const bool* holds = condition.get<bool>())
      collect(*holds ? conditional->thenValue : conditional->elseValue);
  } else if (auto* call = std::get_if<ast::Call>(&expr.node)) {
    for (const ast::Argument& argument : call->arguments)
      collect(argument.value);
  } else if (auto* index = std::get_if<ast::Index>(&expr.node)) {
    addOperand(evaluator, id, env, operands);
    collect(index->index);
  } else if (auto* text = std::get_if<ast::StringLiteral>(&expr.node)) {
    for (ast::ExprId hole : text->holes)
      collect(hole);
  } else if (auto* list = std::get_if<ast::ListExpr>(&expr.node)) {
    for (ast::ExprId element : list->elements)
      collect(element);
  } else if (auto* each = std::get_if<ast::Comprehension>(&expr.node)) {
    // The element uses the loop's variables, which are no operands.
    for (const ast::Clause& clause : each->clauses)
      collect(clause.source);
  }
}

} // namespace

std::vector<Operand> directOperands(Evaluator& evaluator, ast::ExprId id,
                                    const Env& env) {
  std::vector<Operand> operands;
  collectOperands(evaluator, id, env, operands);
  std::erase_if(operands, [](const Operand& operand) {
    return !operand.value.isScalar();
  });
  return operands;
}

std::vector<Operand> operandsOf(Evaluator& evaluator, ast::ExprId id,
                                const Env& env) {
  std::vector<Operand> operands;
  collectOperands(evaluator, id, env, operands);
  const size_t written = operands.size();
  std::vector<size_t> depths(written, 0); // of derivations behind the condition
  // After the operands written in the condition, add the operands of derived
  // fields and of the library's names for expressions.
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand operand = operands[i];
    bool isDerived = operand.slot && operand.slot->field &&
                     operand.value.origin.kind == recipe::Origin::Kind::derived;
    if (operand.let && evaluator.isLibrary(operand.let->name.range))
      collectOperands(evaluator, operand.let->value, *operand.letEnv, operands);
    if (isDerived)
      collectOperands(
          evaluator, operand.slot->field->declaration->defaultValue,
          *evaluator.objects.schemaScope(*operand.object, operand.slot->name),
          operands);
    depths.resize(operands.size(), depths[i] + 1);
  }
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i].isHidden =
        (i >= written && !operands[i].slot) || !isShownAsOperand(operands[i]) ||
        (depths[i] > deepestDefault &&
         operands[i].value.origin.kind == recipe::Origin::Kind::defaultValue);
  return operands;
}

std::vector<const Operand*> suspects(const Evaluator& evaluator,
                                     const std::vector<Operand>& operands,
                                     const Object* preferred) {
  using Kind = recipe::Origin::Kind;
  std::vector<const Operand*> found;
  for (const Operand& operand : operands) {
    if (!isUserSet(operand) || evaluator.isLibrary(operand.value.origin.range))
      continue;
    // A choice made elsewhere, such as `task`, is the reason for the failure
    // and not the mistake.
    if (operand.object == preferred || isNumeric(operand.value))
      found.push_back(&operand);
  }
  auto rank = [&](const Operand* operand) {
    const recipe::Origin& origin = operand->value.origin;
    return std::make_tuple(evaluator.isOwnPlace(origin.range),
                           operand->object == preferred,
                           origin.kind == Kind::commandLine,
                           // Places are comparable only within a file.
                           origin.range.source == evaluator.recipeRange.source,
                           origin.range.begin);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Operand* left, const Operand* right) {
                     return rank(left) > rank(right);
                   });
  return found;
}

bool followsDefaults(const std::vector<Operand>& operands) {
  return std::any_of(
      operands.begin(), operands.end(), [](const Operand& operand) {
        return operand.value.origin.kind == recipe::Origin::Kind::defaultValue;
      });
}

std::string operandText(Evaluator& evaluator, const Operand& operand) {
  std::string quote = isNumeric(operand.value) ? "" : "`";
  return "`" + operand.text + "` is " + quote +
         describe(evaluator, operand.value) + quote;
}

void noteOperands(Evaluator& evaluator, diag::Builder& builder,
                  const std::vector<Operand>& operands, const Slot* except) {
  using Kind = recipe::Origin::Kind;
  for (const Operand& operand : operands) {
    if (operand.isHidden || (operand.slot && operand.slot == except))
      continue;
    const recipe::Origin& origin = operand.value.origin;
    // Skip a boolean that the library derives from fields with their own notes.
    if (operand.let && operand.value.is<bool>() &&
        evaluator.isLibrary(origin.range))
      continue;
    std::string text = operandText(evaluator, operand);
    switch (origin.kind) {
    case Kind::written:
      builder.label(origin.range, text);
      break;
    case Kind::defaultValue:
      builder.note(text + " by default", origin.range);
      break;
    case Kind::commandLine:
      builder.note(
          text + " from `" +
          std::string(evaluator.sources.name(origin.range.source)) + " " +
          std::string(evaluator.sources.text(origin.range.source)) + "`");
      break;
    case Kind::derived:
      builder.note(text + ", derived as `" +
                       onOneLine(evaluator.sources.text(origin.range)) + "`",
                   origin.range);
      break;
    }
  }
}

} // namespace recipec::sema
