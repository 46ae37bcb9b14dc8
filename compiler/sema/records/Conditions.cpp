// `require`: what does not hold, and why.
//
// A failed condition is reported at the user's value that is nearest to it. The
// notes give the rule and every operand that decided the result, with where its
// value came from; derived operands, and names that the library gives to parts
// of a rule, lead on to what they were derived from. What is proposed is found
// by trial: the nearest values of one operand for which the condition holds,
// evaluated on copies of the whole recipe. The driver tries the other rules.

#include "compiler/recipe/Format.h"
#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <cmath>

namespace recipec::sema {
namespace {

constexpr std::string_view outerPrefix = "outer.";
/// How far from the user's value a remedy is looked for, and how far from one
/// that was found for another.
constexpr int64_t remedyReach = 512;
constexpr int64_t otherReach = 64;
/// Operands whose other values are tried.
constexpr size_t mostTried = 4;

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

/// What a note can say the value of in a few words.
bool isShownAsOperand(const Operand& operand) {
  return isScalar(operand.value) || operand.slot;
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

/// A condition that failed, of a record or of one of its layers.
struct Evaluator::Trial {
  Object& object;
  size_t layerIndex;
  const ast::Require& require;
  const std::vector<Operand>& operands;
};

// ---- operands

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
    if (!operand.let) {
      operand.let = binding.let;
      operand.letEnv = binding.env;
    }
    findOperand(decided(binding.let->value, *binding.env), *binding.env,
                operand);
  }
}

/// What a conditional is, without those that were not decided for.
ast::ExprId Evaluator::decided(ast::ExprId id, const Env& env) {
  while (auto* choice = std::get_if<ast::Conditional>(&(*env.file)[id].node)) {
    Value condition = evaluate(choice->condition, env);
    const bool* holds = condition.get<bool>();
    if (!holds)
      break;
    id = *holds ? choice->thenValue : choice->elseValue;
  }
  return id;
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
        return other.text == operand.text ||
               (other.slot && other.slot == operand.slot);
      });
  bool isShown = isScalar(operand.value) || operand.value.isPoison() ||
                 (operand.slot && operand.value.is<const ListValue*>());
  if (!isKnown && (isShown || operand.let))
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
  } else if (auto* each = std::get_if<ast::Comprehension>(&expr.node)) {
    // The element is written in the loop's variables, which are none.
    for (const ast::Clause& clause : each->clauses)
      collect(clause.source);
  }
}

std::vector<Operand> Evaluator::directOperands(ast::ExprId id, const Env& env) {
  std::vector<Operand> operands;
  collectOperands(id, env, operands);
  std::erase_if(operands, [](const Operand& operand) {
    return !isScalar(operand.value);
  });
  return operands;
}

std::vector<Operand> Evaluator::operandsOf(ast::ExprId id, const Env& env) {
  std::vector<Operand> operands;
  collectOperands(id, env, operands);
  const size_t written = operands.size();
  // Behind the operands written in the condition: what derived ones, and names
  // that the library gives to expressions, depend on.
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand operand = operands[i];
    bool isDerived = operand.slot && operand.slot->field &&
                     operand.value.origin.kind == recipe::Origin::Kind::derived;
    if (operand.let && isLibrary(operand.let->name.range))
      collectOperands(operand.let->value, *operand.letEnv, operands);
    if (isDerived)
      collectOperands(operand.slot->field->declaration->defaultValue,
                      *schemaScope(*operand.object, operand.slot->name),
                      operands);
  }
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i].isHidden =
        (i >= written && !operands[i].slot) || !isShownAsOperand(operands[i]);
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
    if (operand.isHidden || (operand.slot && operand.slot == except))
      continue;
    const recipe::Origin& origin = operand.value.origin;
    // A boolean that the library derives from fields that have notes.
    if (operand.let && operand.value.is<bool>() && isLibrary(origin.range))
      continue;
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
  std::vector<Operand> operands = operandsOf(require.condition, *env);
  // Derived from what another condition has refused.
  bool isConsequence =
      std::any_of(operands.begin(), operands.end(),
                  [](const Operand& each) { return each.value.isPoison(); });
  bool isOpen = isPartial && followsDefaults(operands);
  if (!isConsequence && !isOpen)
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

/// `` `train.steps` or `train.epochs` ``: the operands of a rule that are
/// `none` because nobody set them.
static std::string missingOf(const std::vector<Operand>& operands,
                             std::string_view rule) {
  std::vector<std::string> names;
  for (const Operand& operand : operands)
    if (operand.slot && operand.value.is<recipe::None>() &&
        rule.find(operand.text) != rule.npos &&
        operand.value.origin.kind == recipe::Origin::Kind::defaultValue)
      names.push_back("`" + operand.text + "`");
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

void Evaluator::reportFailed(Object& object, size_t layerIndex,
                             const ast::Require& require, SourceRange range,
                             const Env& env) {
  std::vector<Operand> operands = operandsOf(require.condition, env);
  std::vector<const Operand*> candidates = suspects(operands, &object);
  const Operand* primary = candidates.empty() ? nullptr : candidates.front();
  std::vector<diag::Proposal> proposals =
      remedies({object, layerIndex, require, operands}, candidates, primary);
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
  if (std::string missing = missingOf(operands, rule); !missing.empty())
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

// ---- remedies

bool Evaluator::holdsWith(const Trial& trial, const Operand& operand,
                          const Value& value) {
  auto pathTo = [](const Object* at) {
    std::vector<std::string_view> keys;
    for (; at && !at->key.empty(); at = at->container)
      keys.insert(keys.begin(), at->key);
    return keys;
  };
  const bool isAlone = standsAlone(trial, operand);
  auto& names = make<std::vector<ast::Name>>();
  if (!isAlone)
    for (std::string_view key : pathTo(operand.object))
      names.push_back({std::string(key), {}});
  names.push_back({std::string(operand.slot->name), {}});
  Layer& layer = make<Layer>();
  layer.env = &opsModule->env;
  Member member;
  member.path = names;
  member.given = &make<Value>(Value{value.data, operand.value.origin});
  layer.members.push_back(member);

  const Object& base = isAlone ? trial.object : *root;
  Object* at = amended(base, &layer, base.range);
  for (std::string_view key :
       isAlone ? std::vector<std::string_view>() : pathTo(&trial.object)) {
    Slot* slot = at->find(key);
    Object* const* inner = slot ? force(*at, *slot).get<Object*>() : nullptr;
    if (!inner)
      return false;
    at = *inner;
  }
  if (trial.layerIndex != checkOwnSchema) {
    if (trial.layerIndex >= at->layers.size())
      return false;
    return holds(trial.require, *scopeOf(*at, *at->layers[trial.layerIndex]));
  }
  // What stands before this condition in the schema has to hold as well.
  for (const ast::Item& item : at->schema->body->items) {
    auto* condition = std::get_if<ast::Require>(&item.node);
    if (!condition)
      continue;
    if (!holds(*condition, *schemaScope(*at)))
      return false;
    if (condition == &trial.require)
      return true;
  }
  return false;
}

bool Evaluator::holds(const ast::Require& require, const Env& env) {
  Value result = evaluate(require.condition, env);
  const bool* decided = result.get<bool>();
  return decided && *decided;
}

/// Whether the condition and the operand are of a model that a `let` declares:
/// it is tried by itself.
bool Evaluator::standsAlone(const Trial& trial, const Operand& operand) const {
  return operand.object == &trial.object && &trial.object != root &&
         !trial.object.container && trial.object.key.empty();
}

bool Evaluator::canBeTried(const Trial& trial, const Operand& operand) const {
  auto isInRoot = [&](const Object* at) {
    // An element of a list has no path that a trial could set.
    while (at && at->container && !at->key.ends_with(']'))
      at = at->container;
    return at == root;
  };
  bool isDefault = operand.slot && operand.value.origin.kind ==
                                       recipe::Origin::Kind::defaultValue;
  return (isUserSet(operand) || isDefault) && operand.object && !isMuted &&
         (standsAlone(trial, operand) ||
          (root && isInRoot(&trial.object) && isInRoot(operand.object)));
}

/// Up to two on either side, the nearest first.
std::vector<Value> Evaluator::nearestValues(const Trial& trial,
                                            const Operand& operand,
                                            int64_t current) {
  if (std::abs(current) > int64_t(1) << 40)
    return {};
  std::vector<int64_t> found;
  for (int64_t step : {-1, 1}) {
    size_t before = found.size();
    int64_t reach = remedyReach;
    int64_t first = step > 0 ? std::max<int64_t>(current + 1, 0) : current - 1;
    for (int64_t i = 0; i < reach && found.size() < before + 2; ++i) {
      int64_t value = first + step * i;
      if (value < 0)
        break;
      if (!holdsWith(trial, operand, {value, {}}))
        continue;
      if (found.size() == before)
        reach = std::min(remedyReach, i + otherReach);
      found.push_back(value);
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](int64_t a, int64_t b) {
    return std::abs(a - current) < std::abs(b - current);
  });
  std::vector<Value> values;
  for (int64_t value : found)
    values.push_back({value, {}});
  return values;
}

/// Of the bounds that other operands, 0 and 1 are to a number with a fraction,
/// the nearest that it may have.
std::vector<Value> Evaluator::nearestBound(const Trial& trial,
                                           const Operand& operand,
                                           double current) {
  std::vector<double> bounds = {0, 1};
  for (const Operand& other : trial.operands)
    if (const double* number = other.value.get<double>())
      bounds.push_back(*number);
  std::stable_sort(bounds.begin(), bounds.end(), [&](double a, double b) {
    return std::abs(a - current) < std::abs(b - current);
  });
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (double bound : bounds)
    if (bound != current && holdsWith(trial, operand, {bound, {}}))
      return {{bound, {}}};
  return {};
}

/// Lists of whole numbers that are as even as may be, the larger ones first: as
/// long, and of such a sum, as other operands or the list itself.
std::vector<Value> Evaluator::evenLists(const Trial& trial,
                                        const Operand& operand) {
  const ListValue* const* list = operand.value.get<const ListValue*>();
  if (!list || (*list)->elements.empty())
    return {};
  int64_t sum = 0;
  for (const Value& element : (*list)->elements) {
    const int64_t* whole = element.get<int64_t>();
    if (!whole)
      return {};
    sum += *whole;
  }
  std::vector<int64_t> sums = {sum};
  std::vector<int64_t> lengths = {int64_t((*list)->elements.size())};
  for (const Operand& other : trial.operands)
    if (const int64_t* whole = other.value.get<int64_t>()) {
      sums.push_back(*whole);
      for (size_t i = lengths.size(); i > 0; --i)
        lengths.push_back(lengths[i - 1] * *whole);
      lengths.push_back(*whole);
    }
  constexpr int64_t longest = 64;
  for (int64_t length : lengths)
    for (int64_t total : sums) {
      if (length < 1 || length > longest || total < length)
        continue;
      ListValue& even = make<ListValue>();
      for (int64_t i = 0; i < length; ++i)
        even.elements.push_back({total / length + (i < total % length), {}});
      if (holdsWith(trial, operand, {&std::as_const(even), {}}))
        return {{&std::as_const(even), {}}};
    }
  return {};
}

/// The other values of a choice.
std::vector<Value> Evaluator::otherValues(const Operand& operand) {
  const Type* type = typeOf(*operand.object, *operand.slot);
  std::vector<Value> values;
  if (const bool* holds = operand.value.get<bool>())
    values.push_back({!*holds, {}});
  // A number that was meant to have a unit.
  if (const double* number = operand.value.get<double>())
    for (const Type* member : type ? type->members : std::vector<const Type*>())
      if (member->kind == Type::Kind::quantity &&
          *number == std::floor(*number))
        values.push_back({recipe::Quantity{*number, member->unit}, {}});
  for (const Type* member : type ? type->members : std::vector<const Type*>())
    if (member->kind == Type::Kind::literal &&
        !isEqual(operand.value, {member->literal, {}}))
      values.push_back({member->literal, {}});
    else if (member->kind == Type::Kind::automatic)
      values.push_back({recipe::Auto{}, {}});
    else if (member->kind == Type::Kind::none)
      values.push_back({recipe::None{}, {}});
  return values;
}

diag::WayOut Evaluator::wayOut(const Trial& trial, const Operand& operand,
                               const Value& value, std::string text) {
  const std::string written = recipe::formatValue(lower(value), {});
  if (!standsAlone(trial, operand))
    return {std::move(text),
            {pathOf(*operand.object, operand.slot->name) + "=" + written},
            {}};
  // The range is that of the value, or of the item that sets it.
  const SourceRange range = operand.value.origin.range;
  const std::string name(operand.slot->name);
  const bool isItem = sources.text(range).starts_with(name);
  return {std::move(text),
          {},
          {{range, isItem ? name + " = " + written : written}}};
}

/// The schema's default, where it is another value and the condition holds with
/// it; of a list, the default's elements in place of those that do not.
std::vector<Value> Evaluator::defaultValue(const Trial& trial,
                                           const Operand& operand) {
  const auto* declared = operand.slot && operand.slot->field
                             ? operand.slot->field->declaration
                             : nullptr;
  if (!declared || declared->defaultValue == ast::ExprId::none)
    return {};
  const Value value =
      evaluate(declared->defaultValue, *schemaScope(*operand.object));
  const ListValue* const* all = value.get<const ListValue*>();
  const ListValue* const* given = operand.value.get<const ListValue*>();
  if (all && given && (*all)->elements.size() == (*given)->elements.size())
    for (size_t i = 0; i < (*all)->elements.size(); ++i) {
      ListValue& mended = make<ListValue>(**given);
      mended.elements[i] = (*all)->elements[i];
      if (holdsWith(trial, operand, {&std::as_const(mended), {}}))
        return {{&std::as_const(mended), {}}};
    }
  const bool isTold = !value.isPoison() && !isEqual(value, operand.value) &&
                      holdsWith(trial, operand, value);
  return isTold ? std::vector<Value>{value} : std::vector<Value>();
}

std::optional<diag::Proposal> Evaluator::remedy(const Trial& trial,
                                                const Operand& operand) {
  if (!canBeTried(trial, operand))
    return std::nullopt;
  const int64_t* whole = operand.value.get<int64_t>();
  const DimRef* dim = operand.value.get<DimRef>();
  isMuted = true;
  std::vector<Value> values;
  if (whole || dim)
    values = nearestValues(trial, operand, whole ? *whole : dim->size);
  else
    values = evenLists(trial, operand);
  for (Value& value : otherValues(operand))
    if (!isEqual(value, operand.value) && holdsWith(trial, operand, value))
      values.push_back(std::move(value));
  if (values.empty())
    values = defaultValue(trial, operand);
  if (const double* number = operand.value.get<double>();
      number && values.empty())
    values = nearestBound(trial, operand, *number);
  isMuted = false;
  if (values.empty())
    return std::nullopt;
  std::string path = pathOf(*operand.object, operand.slot->name);
  std::string name = operand.let ? path : operand.text;
  diag::Proposal proposal{isUserSet(operand) ? "change `" + name + "` to "
                                             : "set `" + path + "` to ",
                          {},
                          "",
                          2};
  for (const Value& value : values) {
    std::string text = recipe::formatValue(lower(value), {});
    bool isNumber = value.is<int64_t>() || value.is<double>();
    proposal.ways.push_back(
        wayOut(trial, operand, value, isNumber ? text : "`" + text + "`"));
  }
  return proposal;
}

/// Of several fields that may be `none`, one has to be where all are given: not
/// one of the command line, which is the user's last word.
std::optional<diag::Proposal>
Evaluator::leaveOut(const Trial& trial,
                    const std::vector<const Operand*>& candidates) {
  const Value none{recipe::None{}, {}};
  std::vector<const Operand*> optional;
  for (const Operand* operand : candidates)
    if (canBeTried(trial, *operand) && !operand->value.is<recipe::None>() &&
        convert(none, *typeOf(*operand->object, *operand->slot)))
      optional.push_back(operand);
  if (optional.size() < 2)
    return std::nullopt;
  auto isArgument = [](const Operand* operand) {
    return operand->value.origin.kind == recipe::Origin::Kind::commandLine;
  };
  size_t arguments =
      size_t(std::count_if(optional.begin(), optional.end(), isArgument));
  bool isOverridden = arguments > 0 && arguments < optional.size();
  diag::Proposal proposal{isOverridden ? "add " : "leave out ", {}, "", 2};
  isMuted = true;
  for (size_t i = optional.size(); i > 0; --i) {
    const Operand& operand = *optional[i - 1];
    if ((isOverridden && isArgument(&operand)) ||
        !holdsWith(trial, operand, none))
      continue;
    diag::WayOut way = wayOut(trial, operand, none, "`" + operand.text + "`");
    if (isOverridden && !way.settings.empty())
      way.text = "`--set " + way.settings.front() + "`";
    proposal.ways.push_back(std::move(way));
  }
  isMuted = false;
  return proposal;
}

/// The one to blame is the first whose change would help.
std::vector<diag::Proposal>
Evaluator::remedies(const Trial& trial,
                    const std::vector<const Operand*>& candidates,
                    const Operand*& primary) {
  std::vector<diag::Proposal> proposals;
  if (auto proposal = leaveOut(trial, candidates))
    return {std::move(*proposal)};
  // Behind the one to blame those that the condition is nearest to: they stand
  // in the order in which they were found.
  std::vector<const Operand*> tried = candidates;
  if (tried.size() > 2)
    std::sort(tried.begin() + 1, tried.end());
  const Object* preferred = primary ? primary->object : nullptr;
  bool isBlamed = false;
  for (size_t i = 0; i < std::min(tried.size(), mostTried); ++i) {
    auto proposal = remedy(trial, *tried[i]);
    if (!proposal)
      continue;
    const bool isFirst = !isBlamed && tried[i]->object == preferred;
    if (isFirst) {
      primary = tried[i];
      isBlamed = true;
    }
    proposals.insert(isFirst ? proposals.begin() : proposals.end(),
                     std::move(*proposal));
  }
  // What nobody set, `cluster.ranks` say, or a choice beside the one to blame.
  auto isBeside = [&](const Operand& operand) {
    return isBlamed && operand.object == preferred &&
           operand.value.is<std::string>();
  };
  for (const Operand& operand : trial.operands)
    if (operand.slot && !isUserSet(operand) &&
        (operand.value.is<int64_t>() || isBeside(operand)) &&
        proposals.size() < mostTried)
      if (auto proposal = remedy(trial, operand))
        proposals.push_back(std::move(*proposal));
  return proposals;
}

} // namespace recipec::sema
