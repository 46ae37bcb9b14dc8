// Arithmetic, comparison and slices with Python's meaning.

#include "runtime/jinja/Renderer.h"
#include "runtime/jinja/Strings.h"

#include <algorithm>
#include <cmath>

namespace reciperun::jinja {
namespace {

using ast::BinaryOp;
using ast::CompareOp;

Status refused(std::string_view op, const Value& left, const Value& right) {
  for (const Value* operand : {&left, &right})
    if (const Undefined* undefined = operand->undefined())
      return Status::error("`" + undefined->name + "`, an operand of `" +
                           std::string(op) + "`, is not defined");
  return Status::error("`" + std::string(op) + "` does not take `" +
                       std::string(left.typeName()) + "` and `" +
                       std::string(right.typeName()) + "`");
}

std::string_view spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return "+";
  case BinaryOp::subtract:
    return "-";
  case BinaryOp::multiply:
    return "*";
  case BinaryOp::divide:
    return "/";
  case BinaryOp::floorDivide:
    return "//";
  case BinaryOp::modulo:
    return "%";
  case BinaryOp::power:
    return "**";
  case BinaryOp::concatenate:
    return "~";
  case BinaryOp::conjunction:
    return "and";
  case BinaryOp::disjunction:
    return "or";
  }
  return "";
}

Status tooLarge(BinaryOp op) {
  return Status::error("the result of `" + std::string(spelling(op)) +
                       "` does not fit in 64 bits");
}

Expected<Value> power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result))
      return tooLarge(BinaryOp::power);
    if (result == 0 || result == 1) // more factors change at most the sign
      break;
    if (result == -1) {
      result = exponent % 2 ? -1 : 1;
      break;
    }
  }
  return Value(result);
}

Expected<Value> ofIntegers(BinaryOp op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflows = false;
  switch (op) {
  case BinaryOp::add:
    overflows = __builtin_add_overflow(left, right, &result);
    break;
  case BinaryOp::subtract:
    overflows = __builtin_sub_overflow(left, right, &result);
    break;
  case BinaryOp::multiply:
    overflows = __builtin_mul_overflow(left, right, &result);
    break;
  case BinaryOp::power:
    return right < 0 ? Value(std::pow(double(left), double(right)))
                     : power(left, right);
  case BinaryOp::floorDivide:
  case BinaryOp::modulo: {
    if (left == INT64_MIN && right == -1)
      return op == BinaryOp::modulo ? Expected<Value>(Value(int64_t(0)))
                                    : tooLarge(op);
    const bool isBelow = left % right != 0 && (left < 0) != (right < 0);
    result = op == BinaryOp::modulo ? left % right + (isBelow ? right : 0)
                                    : left / right - isBelow;
    break;
  }
  default:
    return Value(double(left) / double(right));
  }
  return overflows ? Expected<Value>(tooLarge(op)) : Value(result);
}

Value ofReals(BinaryOp op, double left, double right) {
  switch (op) {
  case BinaryOp::add:
    return left + right;
  case BinaryOp::subtract:
    return left - right;
  case BinaryOp::multiply:
    return left * right;
  case BinaryOp::power:
    return std::pow(left, right);
  case BinaryOp::floorDivide:
    return std::floor(left / right);
  case BinaryOp::modulo:
    return left - right * std::floor(left / right);
  default:
    return left / right;
  }
}

/// `'ab' * 3` and `[0] * 3`.
Expected<Value> repeated(const Value& value, int64_t count, Budget& budget) {
  count = std::max<int64_t>(count, 0);
  const size_t size = value.string() ? value.string()->size()
                                     : value.list()->size() * sizeof(Value);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(int64_t(size), count, &bytes))
    bytes = INT64_MAX;
  RECIPERUN_TRY(budget.takeBytes(size_t(bytes)));
  if (bytes == 0)
    return value.string() ? Value("") : Value(List{});
  if (const std::string* text = value.string()) {
    std::string result = *text;
    result.reserve(size_t(bytes));
    while (result.size() < size_t(bytes)) // doubles
      result.append(result, 0, size_t(bytes) - result.size());
    return Value(std::move(result));
  }
  List result;
  for (int64_t i = 0; i < count; ++i)
    result.insert(result.end(), value.list()->begin(), value.list()->end());
  return Value(std::move(result));
}

Expected<Value> concatenated(const std::string& left, const std::string& right,
                             Budget& budget) {
  RECIPERUN_TRY(budget.takeBytes(left.size() + right.size()));
  return Value(left + right);
}

Expected<Value> concatenated(const List& left, const List& right,
                             Budget& budget) {
  RECIPERUN_TRY(budget.takeBytes((left.size() + right.size()) * sizeof(Value)));
  List list = left;
  list.insert(list.end(), right.begin(), right.end());
  return Value(std::move(list));
}

bool isSequence(const Value& value) {
  return value.string() || value.list();
}

} // namespace

Expected<Value> apply(BinaryOp op, const Value& left, const Value& right,
                      Budget& budget) {
  if (op == BinaryOp::concatenate) {
    Expected<Text> first = left.text(budget);
    RECIPERUN_TRY(first);
    Expected<Text> second = right.text(budget);
    RECIPERUN_TRY(second);
    return concatenated(**first, **second, budget);
  }
  if (left.isNumber() && right.isNumber()) {
    const bool divides = op == BinaryOp::divide ||
                         op == BinaryOp::floorDivide || op == BinaryOp::modulo;
    if (divides && right.real() == 0)
      return Status::error("division by zero");
    return left.isInteger() && right.isInteger()
               ? ofIntegers(op, left.integer(), right.integer())
               : ofReals(op, left.real(), right.real());
  }
  if (op == BinaryOp::add && left.string() && right.string())
    return concatenated(*left.string(), *right.string(), budget);
  if (op == BinaryOp::add && left.list() && right.list())
    return concatenated(*left.list(), *right.list(), budget);
  if (op == BinaryOp::multiply && isSequence(left) && right.isInteger())
    return repeated(left, right.integer(), budget);
  if (op == BinaryOp::multiply && isSequence(right) && left.isInteger())
    return repeated(right, left.integer(), budget);
  return refused(spelling(op), left, right);
}

Expected<Value> negate(const Value& operand) {
  if (operand.is<double>())
    return Value(-operand.real());
  if (operand.isInteger() && operand.integer() != INT64_MIN)
    return Value(-operand.integer());
  return Status::error("`-` does not take a value of type `" +
                       std::string(operand.typeName()) + "`");
}

namespace {

Expected<bool> contains(const Value& container, const Value& element,
                        Budget& budget) {
  if (container.string() && element.string()) {
    RECIPERUN_TRY(budget.takeReads(container.string()->size()));
    return firstPosition(*container.string(), *element.string()) !=
           std::string::npos;
  }
  if (container.dict()) {
    if (!element.string())
      return false;
    Expected<const Value*> entry =
        container.dict()->find(*element.string(), budget);
    RECIPERUN_TRY(entry);
    return *entry != nullptr;
  }
  if (container.list()) {
    for (const Value& each : *container.list()) {
      Expected<bool> result = isEqual(each, element, budget);
      if (!result || *result)
        return result;
    }
    return false;
  }
  if (container.isUndefined())
    return false;
  return refused("in", element, container);
}

Expected<bool> negated(const Expected<bool>& result) {
  RECIPERUN_TRY(result);
  return !*result;
}

} // namespace

Expected<bool> holds(CompareOp op, const Value& left, const Value& right,
                     Budget& budget) {
  switch (op) {
  case CompareOp::equal:
    return isEqual(left, right, budget);
  case CompareOp::unequal:
    return negated(isEqual(left, right, budget));
  case CompareOp::in:
    return contains(right, left, budget);
  case CompareOp::notIn:
    return negated(contains(right, left, budget));
  default:
    break;
  }
  if (left.isUndefined() || right.isUndefined())
    return refused("<", left, right);
  Expected<int> order = compare(left, right, budget);
  RECIPERUN_TRY(order);
  switch (op) {
  case CompareOp::less:
    return *order < 0;
  case CompareOp::lessEqual:
    return *order <= 0;
  case CompareOp::greater:
    return *order > 0;
  default:
    return *order >= 0;
  }
}

namespace {

/// The positions that a slice takes of a sequence: from `begin` by `stride`, up
/// to but without `end`.
struct Positions {
  int64_t begin, end, stride;

  bool contain(int64_t position) const {
    return stride > 0 ? position >= begin && position < end &&
                            (position - begin) % stride == 0
                      : position <= begin && position > end &&
                            (begin - position) % stride == 0;
  }
};

Positions positionsOf(int64_t count, const Value& first, const Value& last,
                      int64_t stride) {
  auto bound = [&](const Value& value, int64_t otherwise) {
    if (value.isNone())
      return otherwise;
    const int64_t at = value.integer();
    const int64_t low = stride > 0 ? 0 : -1;
    const int64_t high = stride > 0 ? count : count - 1;
    return std::clamp(at < 0 ? at + count : at, low, high);
  };
  return {bound(first, stride > 0 ? 0 : count - 1),
          bound(last, stride > 0 ? count : -1), stride};
}

Expected<Value> sliceOf(const List& list, const Positions& positions,
                        Budget& budget) {
  const auto count = int64_t(list.size());
  const auto [begin, end, stride] = positions;
  List taken;
  // The distance is below `count`, so that a large stride cannot overflow.
  for (int64_t i = begin; stride > 0 ? i < end : i > end;) {
    taken.push_back(list[size_t(i)]);
    if (stride > count || stride < -count)
      break;
    i += stride;
  }
  return made(std::move(taken), budget);
}

Expected<Value> sliceOf(const std::string& string, const Positions& positions,
                        Budget& budget) {
  std::string text;
  std::string_view rest = string;
  for (int64_t i = 0; !rest.empty(); ++i) {
    const std::string_view point = takePoint(rest);
    if (!positions.contain(i))
      continue;
    if (positions.stride > 0)
      text += point;
    else // all bytes are reversed below
      text.append(point.rbegin(), point.rend());
  }
  if (positions.stride < 0)
    std::reverse(text.begin(), text.end());
  return made(std::move(text), budget);
}

} // namespace

Expected<Value> sliceOf(const Value& base, const Value& first,
                        const Value& last, const Value& step, Budget& budget) {
  if (!isSequence(base))
    return Status::error("a value of type `" + std::string(base.typeName()) +
                         "` has no slices");
  for (const Value* bound : {&first, &last, &step})
    if (!bound->isNone() && !bound->isInteger())
      return Status::error("a bound of a slice is of type `" +
                           std::string(bound->typeName()) + "`");
  const int64_t stride = step.isNone() ? 1 : step.integer();
  if (stride == 0)
    return Status::error("the step of a slice is 0");
  if (const List* list = base.list())
    return sliceOf(
        *list, positionsOf(int64_t(list->size()), first, last, stride), budget);
  const std::string& string = *base.string();
  RECIPERUN_TRY(budget.takeReads(string.size()));
  return sliceOf(string,
                 positionsOf(int64_t(countPoints(string)), first, last, stride),
                 budget);
}

} // namespace reciperun::jinja
