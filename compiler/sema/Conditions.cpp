// `require`: what does not hold, and why.
//
// A failed condition is reported at the user's value that is nearest to it. The
// notes give the rule and every operand that decided the result, with where its
// value came from; derived operands lead on to what they were derived from. The
// help is found by trial: the nearest values of one operand for which the
// condition holds, evaluated on copies of the whole recipe.

#include "compiler/sema/Evaluator.h"

#include <algorithm>

namespace recipec::sema {
namespace {

constexpr std::string_view outerPrefix = "outer.";
/// How far from the user's value a remedy is looked for.
constexpr int64_t remedyReach = 512;

bool isScalar(const Value& value) {
  return value.is<recipe::None>() || value.is<recipe::Auto>() ||
         value.is<bool>() || value.is<int64_t>() || value.is<double>() ||
         value.is<std::string>() || value.is<recipe::Quantity>() ||
         value.is<DimRef>();
}

bool isNumeric(const Value& value) {
  return value.is<int64_t>() || value.is<double>() ||
         value.is<recipe::Quantity>() || value.is<DimRef>();
}

/// An expression as a message shows it: without its line breaks.
std::string onOneLine(std::string_view text) {
  std::string line;
  for (char c : text) {
    bool isSpace = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!isSpace || !line.ends_with(' '))
      line += isSpace ? ' ' : c;
  }
  return line;
}

bool isUserSet(const Operand& operand) {
  using Kind = recipe::Origin::Kind;
  Kind kind = operand.value.origin.kind;
  return operand.slot && (kind == Kind::written || kind == Kind::commandLine);
}

} // namespace

// ---- operands
// ----------------------------------------------------------------

void Evaluator::findOperand(ast::ExprId id, const Env& env, Operand& operand) {
  const auto& node = (*env.file)[id].node;
  if (auto* member = std::get_if<ast::Member>(&node)) {
    Value base = evaluate(member->base, env);
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
  Binding binding = findBinding(ref->name.text, env);
  if (binding.slot) {
    operand.object = binding.env->object;
    operand.slot = binding.slot;
  } else if (binding.let) {
    findOperand(binding.let->value, *binding.env, operand);
  }
}

void Evaluator::addOperand(ast::ExprId id, const Env& env,
                           std::vector<Operand>& operands) {
  Operand operand;
  operand.text = std::string(sources.text((*env.file)[id].range));
  operand.value = evaluate(id, env);
  findOperand(id, env, operand);
  if (operand.text.starts_with(outerPrefix) && operand.slot)
    operand.text = pathOf(*operand.object, operand.slot->name);
  bool isKnown =
      std::any_of(operands.begin(), operands.end(), [&](const Operand& other) {
        return other.text == operand.text;
      });
  if (!isKnown && isScalar(operand.value))
    operands.push_back(std::move(operand));
}

void Evaluator::collectOperands(ast::ExprId id, const Env& env,
                                std::vector<Operand>& operands) {
  const ast::Expr& expr = (*env.file)[id];
  auto collect = [&](ast::ExprId part) {
    collectOperands(part, env, operands);
  };
  bool isLeaf = std::holds_alternative<ast::NameRef>(expr.node) ||
                std::holds_alternative<ast::Member>(expr.node);
  if (isLeaf) {
    addOperand(id, env, operands);
  } else if (auto* unary = std::get_if<ast::Unary>(&expr.node)) {
    collect(unary->operand);
  } else if (auto* test = std::get_if<ast::TypeTest>(&expr.node)) {
    collect(test->operand);
  } else if (auto* binary = std::get_if<ast::Binary>(&expr.node)) {
    collect(binary->left);
    bool isAnd = binary->op == ast::BinaryOp::logicalAnd;
    if (isAnd || binary->op == ast::BinaryOp::logicalOr) {
      // What was not evaluated did not decide the result.
      Value left = evaluate(binary->left, env);
      const bool* decided = left.get<bool>();
      if (!decided || *decided != isAnd)
        return;
    }
    collect(binary->right);
  } else if (auto* conditional = std::get_if<ast::Conditional>(&expr.node)) {
    collect(conditional->condition);
    Value condition = evaluate(conditional->condition, env);
    if (const bool* holds = condition.get<bool>())
      collect(*holds ? conditional->thenValue : conditional->elseValue);
  } else if (auto* call = std::get_if<ast::Call>(&expr.node)) {
    for (const ast::Argument& argument : call->arguments)
      collect(argument.value);
  } else if (auto* index = std::get_if<ast::Index>(&expr.node)) {
    addOperand(id, env, operands);
    collect(index->index);
  } else if (auto* text = std::get_if<ast::StringLiteral>(&expr.node)) {
    for (ast::ExprId hole : text->holes)
      collect(hole);
  } else if (auto* list = std::get_if<ast::ListExpr>(&expr.node)) {
    for (ast::ExprId element : list->elements)
      collect(element);
  }
}

std::vector<Operand> Evaluator::directOperands(ast::ExprId id, const Env& env) {
  std::vector<Operand> operands;
  collectOperands(id, env, operands);
  return operands;
}

std::vector<Operand> Evaluator::operandsOf(ast::ExprId id, const Env& env) {
  std::vector<Operand> operands = directOperands(id, env);
  // Behind the operands written in the condition: what derived ones depend on.
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand operand = operands[i];
    if (operand.value.origin.kind != recipe::Origin::Kind::derived ||
        !operand.slot || !operand.slot->field)
      continue;
    ast::ExprId expr = operand.slot->field->declaration->defaultValue;
    collectOperands(expr, *schemaScope(*operand.object, operand.slot->name),
                    operands);
  }
  return operands;
}

std::vector<const Operand*>
Evaluator::suspects(const std::vector<Operand>& operands,
                    const Object* preferred) {
  using Kind = recipe::Origin::Kind;
  std::vector<const Operand*> found;
  for (const Operand& operand : operands) {
    if (!isUserSet(operand) || isLibrary(operand.value.origin.range))
      continue;
    // A choice made elsewhere (`task`) is the reason, not the mistake.
    if (operand.object == preferred || isNumeric(operand.value))
      found.push_back(&operand);
  }
  auto rank = [&](const Operand* operand) {
    const recipe::Origin& origin = operand->value.origin;
    return std::make_tuple(
        operand->object == preferred, origin.kind == Kind::commandLine,
        // Places compare within a file alone.
        origin.range.source == recipeRange.source, origin.range.begin);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Operand* left, const Operand* right) {
                     return rank(left) > rank(right);
                   });
  return found;
}

std::string Evaluator::operandText(const Operand& operand) {
  std::string quote = isNumeric(operand.value) ? "" : "`";
  return "`" + operand.text + "` is " + quote + describe(operand.value) + quote;
}

void Evaluator::noteOperands(diag::Builder& builder,
                             const std::vector<Operand>& operands,
                             const Slot* except) {
  using Kind = recipe::Origin::Kind;
  for (const Operand& operand : operands) {
    if (operand.slot && operand.slot == except)
      continue;
    const recipe::Origin& origin = operand.value.origin;
    std::string text = operandText(operand);
    switch (origin.kind) {
    case Kind::written:
      builder.label(origin.range, text);
      break;
    case Kind::defaultValue:
      builder.note(text + " by default", origin.range);
      break;
    case Kind::commandLine:
      builder.note(text + " from `" +
                   std::string(sources.name(origin.range.source)) + " " +
                   std::string(sources.text(origin.range.source)) + "`");
      break;
    case Kind::derived:
      builder.note(text + ", derived as `" +
                       onOneLine(sources.text(origin.range)) + "`",
                   origin.range);
      break;
    }
  }
}

// ---- checking
// ----------------------------------------------------------------

void Evaluator::check(Object& object, size_t layerIndex,
                      const ast::Require& require, SourceRange range) {
  const Env* env = layerIndex == checkOwnSchema
                       ? schemaScope(object)
                       : scopeOf(object, *object.layers[layerIndex]);
  derivations.push_back({&object, nullptr, require.condition});
  std::optional<bool> holds =
      condition(require.condition, *env, "the condition of `require`");
  derivations.pop_back();
  if (!holds || *holds || object.hasUnknownKey)
    return;
  bool isOpen =
      isPartial && followsDefaults(operandsOf(require.condition, *env));
  if (!isOpen)
    reportFailed(object, layerIndex, require, range, *env);
}

bool Evaluator::followsDefaults(const std::vector<Operand>& operands) {
  return std::any_of(
      operands.begin(), operands.end(), [](const Operand& operand) {
        return operand.value.origin.kind == recipe::Origin::Kind::defaultValue;
      });
}

std::string Evaluator::requireMessage(const ast::Require& require,
                                      const Env& env) {
  if (require.message != ast::ExprId::none) {
    Value message = evaluate(require.message, env);
    if (const std::string* text = message.get<std::string>())
      return *text;
  }
  SourceRange range = (*env.file)[require.condition].range;
  return "`" + std::string(sources.text(range)) + "` does not hold";
}

void Evaluator::reportFailed(Object& object, size_t layerIndex,
                             const ast::Require& require, SourceRange range,
                             const Env& env) {
  std::vector<Operand> operands = operandsOf(require.condition, env);
  std::vector<const Operand*> candidates = suspects(operands, &object);
  // The one to blame is the one whose change would help.
  const Operand* primary = candidates.empty() ? nullptr : candidates.front();
  std::optional<std::string> help;
  for (const Operand* candidate : candidates) {
    help = remedy(object, layerIndex, require, *candidate);
    if (!help)
      continue;
    if (candidate->object == primary->object)
      primary = candidate;
    break;
  }
  SourceRange ruleRange = (*env.file)[require.condition].range;
  std::string rule(sources.text(ruleRange));
  bool isOneLine = rule.find('\n') == std::string::npos;
  auto builder = report(diag::Kind::RequireFailed,
                        primary ? primary->value.origin.range : object.range,
                        requireMessage(require, env));
  // What the excerpt shows anyway needs no words.
  bool isShown = primary && sources.text(primary->value.origin.range)
                                    .find(describe(primary->value)) !=
                                std::string_view::npos;
  if (primary && !isShown)
    builder.label(operandText(*primary));
  builder.note(isOneLine ? "required by `" + rule + "`"
                         : "required by this condition",
               isLibrary(range) ? range : ruleRange);
  noteOperands(builder, operands, primary ? primary->slot : nullptr);
  if (help)
    builder.help(*help);
  // What is computed from these would only repeat the mistake.
  for (const Operand& operand : operands)
    if (operand.slot && isNumeric(operand.value))
      operand.slot->value = poison();
}

// ---- remedies
// ----------------------------------------------------------------

bool Evaluator::holdsWith(const Object& object, size_t layerIndex,
                          const ast::Require& require, const Operand& operand,
                          int64_t value) {
  auto pathTo = [](const Object* at) {
    std::vector<std::string_view> keys;
    for (; at && !at->key.empty(); at = at->container)
      keys.insert(keys.begin(), at->key);
    return keys;
  };
  auto& names = make<std::vector<ast::Name>>();
  for (std::string_view key : pathTo(operand.object))
    names.push_back({std::string(key), {}});
  names.push_back({std::string(operand.slot->name), {}});
  Layer& layer = make<Layer>();
  layer.env = &opsModule->env;
  Member member;
  member.path = names;
  member.given = &make<Value>(Value{value, operand.value.origin});
  layer.members.push_back(member);

  Object* at = amended(*root, &layer, root->range);
  for (std::string_view key : pathTo(&object)) {
    Slot* slot = at->find(key);
    Object* const* inner = slot ? force(*at, *slot).get<Object*>() : nullptr;
    if (!inner)
      return false;
    at = *inner;
  }
  if (layerIndex != checkOwnSchema) {
    if (layerIndex >= at->layers.size())
      return false;
    return holds(require, *scopeOf(*at, *at->layers[layerIndex]));
  }
  // What stands before this condition in the schema has to hold as well.
  for (const ast::Item& item : at->schema->body->items) {
    auto* condition = std::get_if<ast::Require>(&item.node);
    if (!condition)
      continue;
    if (!holds(*condition, *schemaScope(*at)))
      return false;
    if (condition == &require)
      return true;
  }
  return false;
}

bool Evaluator::holds(const ast::Require& require, const Env& env) {
  Value result = evaluate(require.condition, env);
  const bool* decided = result.get<bool>();
  return decided && *decided;
}

std::optional<std::string> Evaluator::remedy(Object& object, size_t layerIndex,
                                             const ast::Require& require,
                                             const Operand& operand) {
  if (!isUserSet(operand) || isMuted || !root)
    return std::nullopt;
  const int64_t* whole = operand.value.get<int64_t>();
  const DimRef* dim = operand.value.get<DimRef>();
  if (!whole && !dim)
    return std::nullopt;
  auto isInRoot = [&](const Object* at) {
    // An element of a list has no path that a trial could set.
    while (at && at->container && !at->key.ends_with(']'))
      at = at->container;
    return at == root;
  };
  if (!isInRoot(&object) || !isInRoot(operand.object))
    return std::nullopt;
  int64_t current = whole ? *whole : dim->size;
  auto nearest = [&](int64_t step) -> std::optional<int64_t> {
    for (int64_t i = 1; i <= remedyReach; ++i) {
      int64_t candidate = current + step * i;
      if (candidate < 1)
        return std::nullopt;
      if (holdsWith(object, layerIndex, require, operand, candidate))
        return candidate;
    }
    return std::nullopt;
  };
  if (std::abs(current) > int64_t(1) << 40)
    return std::nullopt;
  isMuted = true;
  std::optional<int64_t> below = current > 1 ? nearest(-1) : std::nullopt;
  std::optional<int64_t> above =
      current >= 0 ? nearest(1)
                   : (holdsWith(object, layerIndex, require, operand, 1)
                          ? std::optional<int64_t>(1)
                          : std::nullopt);
  isMuted = false;
  if (!below && !above)
    return std::nullopt;
  std::string text = "change `" + operand.text + "` to ";
  if (below)
    text += std::to_string(*below);
  if (below && above)
    text += " or ";
  if (above)
    text += std::to_string(*above);
  return text;
}

} // namespace recipec::sema
