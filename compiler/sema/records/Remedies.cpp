// Finds changes that make a failed condition hold.
//
// 1. Choose the operands whose change may help: first those that the user set,
//    the likeliest mistake first, then defaults.
// 2. Find the nearest values of each for which the condition holds, evaluated
//    on copies of the whole recipe.
// 3. Propose these values; the driver checks the other rules.

#include "compiler/sema/records/Remedies.h"

#include "compiler/recipe/Format.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Conditions.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/values/Comments.h"
#include "compiler/sema/values/Lower.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace recipec::sema {
namespace {

/// The smallest number that is tried as a fraction of another one.
constexpr double leastFraction = 0.01;

/// How far from the user's value the search for a remedy goes. After a first
/// remedy, it goes only this far beyond it.
constexpr int64_t remedyReach = 512;
constexpr int64_t otherReach = 64;
/// The most operands whose other values are tried.
constexpr size_t mostTried = 4;
/// A longer list is not shortened by trial.
constexpr size_t mostShortened = 16;

/// Powers of two around a number, the nearest first on either side.
std::vector<int64_t> nearPowers(int64_t number) {
  constexpr size_t mostBelow = 4;
  std::vector<int64_t> powers;
  int64_t above = 1;
  while (above <= number)
    above *= 2;
  int64_t below = above / 2 == number ? above / 4 : above / 2;
  for (; below >= 1 && powers.size() < mostBelow; below /= 2)
    powers.push_back(below);
  powers.push_back(above);
  return powers;
}

} // namespace

bool Remedies::holdsWith(const Operand& operand, const Value& value) {
  if (evaluator.limits.isHalfSpent())
    return false;
  auto pathTo = [](const Object* at) {
    std::vector<std::string_view> keys;
    for (; at && !at->key.empty(); at = at->container)
      keys.insert(keys.begin(), at->key);
    return keys;
  };
  const bool isAlone = standsAlone(operand);
  auto& names = evaluator.store.make<std::vector<ast::Name>>();
  if (!isAlone)
    for (std::string_view key : pathTo(operand.object))
      names.push_back({std::string(key), {}});
  names.push_back({std::string(operand.slot->name), {}});
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &evaluator.modules.ops()->env;
  Member member;
  member.path = names;
  member.given =
      &evaluator.store.make<Value>(Value{value.data, operand.value.origin});
  layer.members.push_back(member);

  const Object& base = isAlone ? trial.object : *evaluator.root;
  Object* at = evaluator.objects.amended(base, &layer, base.range);
  for (std::string_view key :
       isAlone ? std::vector<std::string_view>() : pathTo(&trial.object)) {
    Slot* slot = at->find(key);
    Object* const* inner =
        slot ? evaluator.objects.force(*at, *slot).get<Object*>() : nullptr;
    if (!inner)
      return false;
    at = *inner;
  }
  if (trial.layerIndex != checkOwnSchema) {
    if (trial.layerIndex >= at->layers.size())
      return false;
    return holds(trial.require, *evaluator.objects.scopeOf(
                                    *at, *at->layers[trial.layerIndex]));
  }
  // The other conditions of the schema up to this one must hold as well, unless
  // they already fail without the change.
  for (const ast::Item& item : at->schema->body->items) {
    auto* condition = std::get_if<ast::Require>(&item.node);
    if (!condition)
      continue;
    const bool isTried = condition == &trial.require;
    if (!holds(*condition, *evaluator.objects.schemaScope(*at)) &&
        (isTried ||
         holds(*condition, *evaluator.objects.schemaScope(trial.object))))
      return false;
    if (isTried)
      return true;
  }
  return false;
}

bool Remedies::holds(const ast::Require& require, const Env& env) {
  Value result = evaluator.evaluate(require.condition, env);
  const bool* decided = result.get<bool>();
  return decided && *decided;
}

/// Whether the condition and the operand belong to a model that a `let`
/// declares. A trial then amends only that model.
bool Remedies::standsAlone(const Operand& operand) const {
  return operand.object == &trial.object && &trial.object != evaluator.root &&
         !trial.object.container && trial.object.key.empty();
}

bool Remedies::canBeTried(const Operand& operand) const {
  auto isInRoot = [&](const Object* at) {
    // A list element has no path that a trial could set.
    while (at && at->container && !at->key.ends_with(']'))
      at = at->container;
    return at == evaluator.root;
  };
  // Do not propose another `task` to make a rule hold.
  const bool isTask = operand.slot && operand.slot->name == "task" &&
                      operand.object == evaluator.root;
  bool isDefault = operand.slot && operand.value.origin.kind ==
                                       recipe::Origin::Kind::defaultValue;
  return !isTask && (isUserSet(operand) || isDefault) && operand.object &&
         !evaluator.messages.isMuted() &&
         (standsAlone(operand) || (evaluator.root && isInRoot(&trial.object) &&
                                   isInRoot(operand.object)));
}

/// Up to two helpful values on either side, nearest first, then powers of two.
/// A power of two divides rank counts and batch sizes that the nearest values
/// do not divide.
std::vector<Value> Remedies::nearestValues(const Operand& operand,
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
      if (!holdsWith(operand, {value, {}}))
        continue;
      if (found.size() == before)
        reach = std::min(remedyReach, i + otherReach);
      found.push_back(value);
    }
  }
  // A minus sign may be a mistake, so put the positive number first.
  if (current < 0 && holdsWith(operand, {-current, {}})) {
    std::erase(found, -current);
    found.insert(found.begin(), -current);
  }
  const bool hasNear = !found.empty();
  // When no value nearby helps, try the other operands as bounds.
  if (found.empty())
    for (const Operand& other : trial.operands)
      if (const int64_t* bound = other.value.get<int64_t>();
          bound && *bound != current && other.slot != operand.slot &&
          holdsWith(operand, {*bound, {}})) {
        found.push_back(*bound);
        break;
      }
  std::stable_sort(found.begin(), found.end(), [&](int64_t a, int64_t b) {
    return std::abs(a - current) < std::abs(b - current);
  });
  for (int64_t power : hasNear ? nearPowers(current) : std::vector<int64_t>())
    if (std::find(found.begin(), found.end(), power) == found.end() &&
        holdsWith(operand, {power, {}}))
      found.push_back(power);
  std::vector<Value> values;
  for (int64_t value : found)
    values.push_back({value, {}});
  return values;
}

/// The example in the comment of the operand's field, if it is a number for
/// which the condition holds.
std::vector<Value> Remedies::documentedValue(const Operand& operand) {
  const std::string example = exampleFor(*operand.object, *operand.slot);
  char* end = nullptr;
  const double number = std::strtod(example.c_str(), &end);
  if (example.empty() || *end != '\0' || !holdsWith(operand, {number, {}}))
    return {};
  return {{number, {}}};
}

std::string_view Remedies::ruleText() const {
  const Layer& layer = trial.layerIndex == checkOwnSchema
                           ? trial.object.schema->layer
                           : *trial.object.layers[trial.layerIndex];
  return evaluator.sources.text(
      (*layer.env->file)[trial.require.condition].range);
}

/// For a `float` operand, the nearest bound that makes the condition hold. The
/// bounds are 0, 1 and the other `float` operands. For a rule such as
/// `rate > 0`, 1 is not a bound.
std::vector<Value> Remedies::nearestBound(const Operand& operand,
                                          double current) {
  const std::string_view rule = ruleText();
  const bool isStrict =
      rule.find("> 0") != rule.npos && rule.find('1') == rule.npos;
  std::vector<double> bounds = {0};
  if (!isStrict)
    bounds.push_back(1);
  for (const Operand& other : trial.operands)
    if (const double* number = other.value.get<double>())
      bounds.push_back(*number);
  std::stable_sort(bounds.begin(), bounds.end(), [&](double a, double b) {
    return std::abs(a - current) < std::abs(b - current);
  });
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (double bound : bounds)
    if (bound != current && holdsWith(operand, {bound, {}}))
      return {{bound, {}}};
  return {};
}

/// Reads the number as a fraction of another operand, or as a percentage.
std::vector<Value> Remedies::scaledValues(const Operand& operand,
                                          double current) {
  std::vector<double> scaled;
  if (current >= leastFraction && current < 1)
    for (const Operand& other : trial.operands)
      if (const double* number = other.value.get<double>();
          number && other.slot != operand.slot && *number > 0)
        scaled.push_back(current * *number);
  const std::string_view written =
      evaluator.sources.text(operand.value.origin.range);
  const bool isPercent = current > 1 && current <= 100 &&
                         current == std::floor(current) &&
                         written.find('%') == written.npos;
  if (isPercent)
    scaled.push_back(current / 100);
  for (double value : scaled) {
    // Round as the user would write it, without floating-point noise.
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    value = std::strtod(text.data(), nullptr);
    if (holdsWith(operand, {value, {}}))
      return {{value, {}}};
  }
  return {};
}

/// For a quantity with a lower bound: doubles the value until the condition
/// holds.
std::vector<Value> Remedies::doubledValues(const Operand& operand,
                                           recipe::Quantity current) {
  constexpr int mostDoublings = 20;
  for (int i = 0; i < mostDoublings && current.amount > 0; ++i) {
    current.amount *= 2;
    if (holdsWith(operand, {current, {}}))
      return {{current, {}}};
  }
  return {};
}

/// For a list with negative numbers: the list without the minus signs.
std::vector<Value> Remedies::withoutSigns(const Operand& operand) {
  const ListValue* const* list = operand.value.get<const ListValue*>();
  if (!list)
    return {};
  ListValue& positive = evaluator.store.make<ListValue>(**list);
  bool hasChanged = false;
  for (Value& element : positive.elements) {
    const double* real = element.get<double>();
    const int64_t* whole = element.get<int64_t>();
    if (real && *real < 0)
      element = {-*real, {}};
    else if (whole && *whole < 0)
      element = {-*whole, {}};
    else
      continue;
    hasChanged = true;
  }
  if (!hasChanged || !holdsWith(operand, {&std::as_const(positive), {}}))
    return {};
  return {{&std::as_const(positive), {}}};
}

/// For a negative number: 0 for -1, which means "none" in other tools,
/// otherwise the number without its sign.
std::vector<Value> Remedies::aboveZero(const Operand& operand, double current) {
  if (current >= 0)
    return {};
  const double meant = current == -1 ? 0 : -current;
  return holdsWith(operand, {meant, {}}) ? std::vector<Value>{{meant, {}}}
                                         : std::vector<Value>();
}

/// Lists of integers that are as equal as possible, the larger ones first. The
/// lengths and sums are those of the list, and other operands.
std::vector<Value> Remedies::evenLists(const Operand& operand) {
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
      ListValue& even = evaluator.store.make<ListValue>();
      for (int64_t i = 0; i < length; ++i)
        even.elements.push_back({total / length + (i < total % length), {}});
      if (holdsWith(operand, {&std::as_const(even), {}}))
        return {{&std::as_const(even), {}}};
    }
  return {};
}

/// The other values that a choice, a switch or a union accepts.
std::vector<Value> Remedies::otherValues(const Operand& operand) {
  const Type* type = evaluator.objects.typeOf(*operand.object, *operand.slot);
  std::vector<Value> values;
  if (const bool* holds = operand.value.get<bool>())
    values.push_back({!*holds, {}});
  // The number may have been meant with a unit.
  if (const double* number = operand.value.get<double>())
    for (const Type* member : type ? type->members : std::vector<const Type*>())
      if (member->kind == Type::Kind::quantity &&
          *number == std::floor(*number))
        values.push_back({recipe::Quantity{*number, member->unit}, {}});
  for (const Type* member : type ? type->members : std::vector<const Type*>())
    if (member->kind == Type::Kind::literal &&
        !evaluator.operators.isEqual(operand.value, {member->literal, {}}))
      values.push_back({member->literal, {}});
    else if (member->kind == Type::Kind::automatic)
      values.push_back({recipe::Auto{}, {}});
    else if (member->kind == Type::Kind::none)
      values.push_back({recipe::None{}, {}});
  return values;
}

diag::WayOut Remedies::wayOut(const Operand& operand, const Value& value,
                              std::string text) {
  const std::string written = recipe::formatValue(lower(evaluator, value), {});
  if (!standsAlone(operand))
    return {
        std::move(text),
        {evaluator.pathOf(*operand.object, operand.slot->name) + "=" + written},
        {}};
  // The range covers the value, or the item that sets it.
  const SourceRange range = operand.value.origin.range;
  const std::string name(operand.slot->name);
  const bool isItem = evaluator.sources.text(range).starts_with(name);
  return {std::move(text),
          {},
          {{range, isItem ? name + " = " + written : written}}};
}

/// The schema's default, when it differs from the value and makes the condition
/// hold. For a list, first tries to replace one element by the default's.
std::vector<Value> Remedies::defaultValue(const Operand& operand) {
  const auto* declared = operand.slot && operand.slot->field
                             ? operand.slot->field->declaration
                             : nullptr;
  if (!declared || declared->defaultValue == ast::ExprId::none)
    return {};
  const Value value = evaluator.evaluate(
      declared->defaultValue, *evaluator.objects.schemaScope(*operand.object));
  const ListValue* const* all = value.get<const ListValue*>();
  const ListValue* const* given = operand.value.get<const ListValue*>();
  if (all && given && (*all)->elements.size() == (*given)->elements.size())
    for (size_t i = 0; i < (*all)->elements.size(); ++i) {
      ListValue& mended = evaluator.store.make<ListValue>(**given);
      mended.elements[i] = (*all)->elements[i];
      if (holdsWith(operand, {&std::as_const(mended), {}}))
        return {{&std::as_const(mended), {}}};
    }
  const bool isTold = !value.isPoison() &&
                      !evaluator.operators.isEqual(value, operand.value) &&
                      holdsWith(operand, value);
  return isTold ? std::vector<Value>{value} : std::vector<Value>();
}

/// Shortens a list that is too long.
std::vector<Value> Remedies::beginningOf(const Operand& operand) {
  const ListValue* const* list = operand.value.get<const ListValue*>();
  if (!list || (*list)->elements.size() > mostShortened)
    return {};
  for (size_t size = (*list)->elements.size(); size > 1; --size) {
    ListValue& shorter = evaluator.store.make<ListValue>(**list);
    shorter.elements.resize(size - 1);
    if (holdsWith(operand, {&std::as_const(shorter), {}}))
      return {{&std::as_const(shorter), {}}};
  }
  return {};
}

/// Values for which the condition holds, nearest first.
std::vector<Value> Remedies::helpfulValues(const Operand& operand) {
  const int64_t* whole = operand.value.get<int64_t>();
  const DimRef* dim = operand.value.get<DimRef>();
  std::vector<Value> values;
  if (whole || dim)
    values = nearestValues(operand, whole ? *whole : dim->size);
  else if (values = withoutSigns(operand); values.empty())
    values = evenLists(operand);
  for (Value& value : otherValues(operand))
    if (!evaluator.operators.isEqual(value, operand.value) &&
        holdsWith(operand, value))
      values.push_back(std::move(value));
  if (auto* quantity = operand.value.get<recipe::Quantity>();
      quantity && values.empty())
    values = doubledValues(operand, *quantity);
  const bool hasOthers = !values.empty();
  const double* number = operand.value.get<double>();
  if (!hasOthers && number)
    values = aboveZero(operand, *number);
  if (!hasOthers && number && values.empty())
    values = scaledValues(operand, *number);
  isScaled = !hasOthers && !values.empty();
  if (values.empty())
    values = beginningOf(operand);
  if (values.empty() && number)
    values = documentedValue(operand);
  if (values.empty())
    values = defaultValue(operand);
  // For a number without a unit, prefer a bound to a default with a unit.
  const bool isOfOtherType =
      !hasOthers && !values.empty() && values[0].is<recipe::Quantity>();
  if (number && (values.empty() || isOfOtherType))
    if (auto bound = nearestBound(operand, *number); !bound.empty())
      values = std::move(bound);
  return values;
}

std::optional<diag::Proposal> Remedies::remedy(const Operand& operand) {
  if (!canBeTried(operand))
    return std::nullopt;
  if (auto list = listOfRange(operand))
    return list;
  std::vector<Value> values;
  {
    Messages::Muted muted(evaluator.messages);
    values = helpfulValues(operand);
  }
  if (values.empty())
    return std::nullopt;
  std::string path = evaluator.pathOf(*operand.object, operand.slot->name);
  std::string name = operand.let ? path : operand.text;
  // If 0 is proposed, quote what the comment says of it:
  // `largest norm; 0 leaves it as it is`.
  const double* first = values[0].get<double>();
  std::string meaning =
      first && *first == 0 && operand.object->schema
          ? summaryOf(*operand.object->schema, operand.slot->name)
          : std::string();
  const size_t zero = meaning.find("; 0 ");
  meaning = zero == meaning.npos ? "" : ": " + meaning.substr(zero + 2);
  diag::Proposal proposal{isUserSet(operand) ? "change `" + name + "` to "
                                             : "set `" + path + "` to ",
                          {},
                          std::move(meaning),
                          2};
  for (const Value& value : values) {
    std::string text = recipe::formatValue(lower(evaluator, value), {});
    bool isNumber = value.is<int64_t>() || value.is<double>();
    proposal.ways.push_back(
        wayOut(operand, value, isNumber ? text : "`" + text + "`"));
  }
  return proposal;
}

/// Tries an example string for a field that takes any string; returns true for
/// other fields.
bool Remedies::mayBeMissed(const Operand& operand) {
  const Type* type =
      operand.slot ? evaluator.objects.typeOf(*operand.object, *operand.slot)
                   : nullptr;
  const Value text{std::string("text"), {}};
  if (!type || !canBeTried(operand) || !convert(evaluator, text, *type))
    return true;
  Messages::Muted muted(evaluator.messages);
  return holdsWith(operand, text);
}

std::vector<diag::Proposal>
Remedies::proposals(const std::vector<const Operand*>& candidates,
                    const Operand*& primary) {
  std::vector<diag::Proposal> proposals;
  if (auto proposal = leaveOut(candidates))
    return {std::move(*proposal)};
  // After the likeliest operand, try the others in the order in which they were
  // collected: the condition's own operands come first.
  std::vector<const Operand*> tried = candidates;
  if (tried.size() > 2)
    std::sort(tried.begin() + 1, tried.end());
  const Object* preferred = primary ? primary->object : nullptr;
  bool isBlamed = false;
  for (size_t i = 0; i < std::min(tried.size(), mostTried); ++i) {
    // Do not propose to move another real number, such as `peak` for a wrong
    // `min`.
    if (!proposals.empty() && tried[i]->value.is<double>())
      continue;
    auto proposal = remedy(*tried[i]);
    if (!proposal)
      continue;
    const bool isFirst = !isBlamed && tried[i]->object == preferred;
    if (isFirst) {
      primary = tried[i];
      isBlamed = true;
    }
    proposals.insert(isFirst ? proposals.begin() : proposals.end(),
                     std::move(*proposal));
    // If a scaled value shows the user's intent, propose only that.
    if (std::exchange(isScaled, false))
      return {std::move(isFirst ? proposals.front() : proposals.back())};
  }
  // Also try integers that the user did not set, such as `cluster.ranks` and
  // the sizes of a library's model, and choices in the same record as the
  // blamed operand.
  auto isBeside = [&](const Operand& operand) {
    return isBlamed && operand.object == preferred &&
           operand.value.is<std::string>();
  };
  for (const Operand& operand : trial.operands)
    if (operand.slot &&
        (!isUserSet(operand) ||
         evaluator.isLibrary(operand.value.origin.range)) &&
        (operand.value.is<int64_t>() || isBeside(operand)) &&
        proposals.size() < mostTried)
      if (auto proposal = remedy(operand))
        proposals.push_back(std::move(*proposal));
  return proposals;
}

} // namespace recipec::sema
