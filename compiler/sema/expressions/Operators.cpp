// Operators: arithmetic of numbers, comparison and ranges.
//
// Integers stay exact: an overflow is an error, and `/` gives a `float` only
// when the division leaves a remainder. A result that is no finite `float` is
// also an error. Comparing values that are never equal, such as a number and a
// string or quantities of different units, is an error (Comparisons.h).

#include "compiler/sema/expressions/Operators.h"

#include "compiler/ast/Operators.h"
#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/expressions/Comparisons.h"
#include "compiler/sema/expressions/OperandHelp.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/values/Arithmetic.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

std::optional<int64_t> wholeOf(const Value& value) {
  if (const int64_t* whole = value.get<int64_t>())
    return *whole;
  if (const DimRef* dim = value.get<DimRef>())
    return dim->size;
  return std::nullopt;
}

std::optional<double> realOf(const Value& value) {
  if (std::optional<int64_t> whole = wholeOf(value))
    return double(*whole);
  if (const double* real = value.get<double>())
    return *real;
  return std::nullopt;
}

/// The exact result, or nullopt on overflow. The divisor must not be 0.
std::optional<int64_t> wholeArithmetic(ast::BinaryOp op, int64_t left,
                                       int64_t right) {
  int64_t result = 0;
  bool overflows = false;
  switch (op) {
  case ast::BinaryOp::add:
    overflows = __builtin_add_overflow(left, right, &result);
    break;
  case ast::BinaryOp::subtract:
    overflows = __builtin_sub_overflow(left, right, &result);
    break;
  case ast::BinaryOp::multiply:
    overflows = __builtin_mul_overflow(left, right, &result);
    break;
  case ast::BinaryOp::divide:
    overflows = left == INT64_MIN && right == -1;
    result = overflows ? 0 : left / right;
    break;
  default:
    result = right == -1 ? 0 : left % right;
  }
  return overflows ? std::nullopt : std::optional(result);
}

bool isComparison(ast::BinaryOp op) {
  return op == ast::BinaryOp::less || op == ast::BinaryOp::lessEqual ||
         op == ast::BinaryOp::greater || op == ast::BinaryOp::greaterEqual;
}

template <class T> bool ordered(ast::BinaryOp op, const T& a, const T& b) {
  switch (op) {
  case ast::BinaryOp::less:
    return a < b;
  case ast::BinaryOp::lessEqual:
    return a <= b;
  case ast::BinaryOp::greater:
    return a > b;
  default:
    return a >= b;
  }
}

/// Repeats a list: `[4] * 8`. Returns poison (reported) when the result would
/// be too large.
Value repeated(Evaluator& evaluator, const ListValue& list, int64_t times,
               SourceRange range) {
  if (times < 0) {
    evaluator.messages
        .report(diag::Kind::InvalidValue, range,
                "a list cannot be repeated " + std::to_string(times) + " times")
        .help("write 0 or more, or leave the list out");
    return poison();
  }
  // Check the size before allocating: the count may overflow 64 bits.
  size_t count = 0;
  if (__builtin_mul_overflow(list.elements.size(), size_t(times), &count))
    count = SIZE_MAX;
  if (!evaluator.limits.fitsElements(count, range) ||
      !evaluator.limits.takeSteps(int64_t(count), range))
    return poison();
  std::vector<Value> elements;
  elements.reserve(count);
  while (elements.size() < count)
    elements.insert(elements.end(), list.elements.begin(), list.elements.end());
  return evaluator.makeList(std::move(elements), range);
}

/// Whether one value is a tensor, whose elements are not known, and the other
/// is a value too.
bool comparesTensor(const Value& left, const Value& right) {
  auto isUnset = [](const Value& value) {
    return value.is<recipe::None>() || value.is<recipe::Auto>();
  };
  return (left.is<Tensor>() || right.is<Tensor>()) && !isUnset(left) &&
         !isUnset(right);
}

} // namespace

Value Operators::reportOperands(std::string_view what, const Value& left,
                                const Value& right, SourceRange range) {
  bool isMixed = mixesUnits(left, right);
  auto builder = evaluator.messages.report(
      isMixed ? diag::Kind::WrongUnit : diag::Kind::WrongType, range,
      "`" + std::string(what) + "` does not take `" +
          fullTypeNameOf(evaluator.sources, left) + "` and `" +
          fullTypeNameOf(evaluator.sources, right) + "`");
  helpWithOperands(evaluator, builder, what, left, right, range);
  return poison();
}

std::string_view Operators::textOf(ast::ExprId id, const Env& env) const {
  return evaluator.sources.text((*env.file)[id].range);
}

bool Operators::reportDefault(const ast::Binary& node, const Value& left,
                              SourceRange range, const Env& env) {
  const std::string_view tested = textOf(node.left, env);
  const auto& right = (*env.file)[node.right].node;
  const bool isValue = std::holds_alternative<ast::NameRef>(right) ||
                       std::holds_alternative<ast::Member>(right) ||
                       std::holds_alternative<ast::IntLiteral>(right) ||
                       std::holds_alternative<ast::FloatLiteral>(right) ||
                       std::holds_alternative<ast::StringLiteral>(right) ||
                       std::holds_alternative<ast::QuantityLiteral>(right) ||
                       std::holds_alternative<ast::ListExpr>(right) ||
                       std::holds_alternative<ast::Call>(right);
  if (left.is<bool>() || !isNamePath(tested) || !isValue)
    return false;
  const bool isOr = node.op == ast::BinaryOp::logicalOr;
  const bool isText = left.is<std::string>();
  const bool mayBeUnset =
      left.is<recipe::None>() || mayBeNone(evaluator, node.left, left, env);
  if (!mayBeUnset && !left.is<recipe::Auto>() && !left.isNumber() && !isText)
    return false;
  const std::string value(tested), other(textOf(node.right, env));
  const std::string test = value + (mayBeUnset                ? " != none"
                                    : left.is<recipe::Auto>() ? " != auto"
                                    : isText                  ? " != \"\""
                                                              : " != 0");
  const std::string own =
      "if " + test + " then " +
      (isOr ? value + " else " + other : other + " else " + value);
  const std::string word(ast::spelling(node.op));
  evaluator.messages
      .report(diag::Kind::WrongType, (*env.file)[node.left].range,
              "`" + word + "` joins conditions of type `bool`, and `" + value +
                  "` is of type `" + typeNameOf(left) + "`")
      .help("one of two values is chosen by a condition: write `" + own + "`")
      .fixIt(range, own);
  return true;
}

Value Operators::binary(const ast::Binary& node, SourceRange range,
                        const Env& env) {
  using Op = ast::BinaryOp;
  if (node.op == Op::logicalAnd || node.op == Op::logicalOr) {
    std::string what =
        "an operand of `" + std::string(ast::spelling(node.op)) + "`";
    const Value first = evaluator.evaluate(node.left, env);
    if (first.isPoison() || reportDefault(node, first, range, env))
      return poison();
    std::optional<bool> left =
        evaluator.condition(first, (*env.file)[node.left].range, what);
    if (!left)
      return poison();
    if (*left == (node.op == Op::logicalOr))
      return {*left, evaluator.writtenAt(range)};
    std::optional<bool> right = evaluator.condition(node.right, env, what);
    return right ? Value{*right, evaluator.writtenAt(range)} : poison();
  }
  Value left = evaluator.evaluate(node.left, env);
  Value right = evaluator.evaluate(node.right, env);
  if (left.isPoison() || right.isPoison())
    return poison();
  switch (node.op) {
  case Op::equal:
  case Op::notEqual:
    if (mixesUnits(left, right) || comparesTensor(left, right))
      return reportOperands(ast::spelling(node.op), left, right, range);
    if (isEqual(left, right))
      return {node.op == Op::equal, evaluator.writtenAt(range)};
    if (isNeverEqual(node, left, right, range, env))
      return poison();
    return {node.op == Op::notEqual, evaluator.writtenAt(range)};
  case Op::in: {
    Value isFound = evaluator.elements.contains(left, right, range);
    const bool* found = isFound.get<bool>();
    if (found && !*found && right.is<const ListValue*>() &&
        isNeverEqual(node, left, right, range, env))
      return poison();
    return isFound;
  }
  case Op::range:
    return makeRange(left, right, range);
  case Op::maps:
    return makeMapping(node, left, right, range, env);
  default:
    break;
  }
  if (isComparison(node.op))
    return compare(node.op, left, right, range);
  if (left.is<Tensor>() || right.is<Tensor>())
    return evaluator.tracer ? evaluator.tracer->arithmetic(
                                  node.op, left, right, range,
                                  {std::string(textOf(node.left, env)),
                                   std::string(textOf(node.right, env))})
                            : poison();
  return arithmetic(node.op, left, right, range);
}

bool Operators::isNeverEqual(const ast::Binary& node, const Value& left,
                             const Value& right, SourceRange range,
                             const Env& env) {
  if (mayBeEqual.contains(&node))
    return false;
  if (reportNeverEqual(evaluator, node, left, right, range, env))
    return true;
  mayBeEqual.insert(&node);
  return false;
}

Value Operators::arithmetic(ast::BinaryOp op, const Value& left,
                            const Value& right, SourceRange range) {
  recipe::Origin origin = evaluator.writtenAt(range);
  std::optional<double> divisor = realOf(right);
  if (const recipe::Quantity* quantity = right.get<recipe::Quantity>())
    divisor = quantity->amount;
  bool divides = op == ast::BinaryOp::divide || op == ast::BinaryOp::remainder;
  if (divides && divisor && *divisor == 0) {
    evaluator.messages
        .report(diag::Kind::InvalidValue, range, "division by zero")
        .help("divide by another number than 0");
    return poison();
  }
  std::optional<int64_t> a = wholeOf(left), b = wholeOf(right);
  bool leavesRest =
      op == ast::BinaryOp::divide && a && b && *b != -1 && *a % *b != 0;
  if (a && b && !leavesRest) {
    if (std::optional<int64_t> result = wholeArithmetic(op, *a, *b))
      return {*result, origin};
    evaluator.messages
        .report(diag::Kind::InvalidValue, range,
                "the result does not fit an `int` of 64 bits")
        .help("write a smaller number, or a `float` such as `1e20`");
    return poison();
  }
  std::optional<double> x = realOf(left), y = realOf(right);
  if (x && y)
    return evaluator.makeReal(realArithmetic(op, *x, *y), range);
  if (left.is<recipe::Quantity>() || right.is<recipe::Quantity>())
    if (auto result = quantityArithmetic(op, left, right, range))
      return *result;
  if (op == ast::BinaryOp::add)
    if (std::optional<Value> result = concatenation(left, right, range))
      return *result;
  if (op == ast::BinaryOp::multiply && left.is<const ListValue*>() && b)
    return repeated(evaluator, **left.get<const ListValue*>(), *b, range);
  return reportOperands(ast::spelling(op), left, right, range);
}

std::optional<Value> Operators::concatenation(const Value& left,
                                              const Value& right,
                                              SourceRange range) {
  const std::string* s = left.get<std::string>();
  const std::string* t = right.get<std::string>();
  if (s && t)
    return evaluator.limits.fitsString(s->size() + t->size(), range)
               ? Value{*s + *t, evaluator.writtenAt(range)}
               : poison();
  const ListValue* const* front = left.get<const ListValue*>();
  const ListValue* const* back = right.get<const ListValue*>();
  if (!front || !back)
    return std::nullopt;
  size_t count = (*front)->elements.size() + (*back)->elements.size();
  if (!evaluator.limits.fitsElements(count, range) ||
      !evaluator.limits.takeSteps(int64_t(count), range))
    return poison();
  std::vector<Value> elements = (*front)->elements;
  elements.insert(elements.end(), (*back)->elements.begin(),
                  (*back)->elements.end());
  return evaluator.makeList(std::move(elements), range);
}

Value Operators::negate(const Value& operand, SourceRange range) {
  if (operand.isPoison())
    return poison();
  if (operand.is<Tensor>() && evaluator.tracer)
    return evaluator.tracer->arithmetic(ast::BinaryOp::multiply, operand,
                                        {int64_t(-1), {}}, range, {"", "-1"});
  if (auto* quantity = operand.get<recipe::Quantity>())
    return {
        recipe::Quantity{-quantity->amount, quantity->unit, quantity->written},
        evaluator.writtenAt(range)};
  if (std::optional<int64_t> whole = wholeOf(operand);
      whole && *whole != INT64_MIN)
    return {-*whole, evaluator.writtenAt(range)};
  if (std::optional<double> real = realOf(operand))
    return {-*real, evaluator.writtenAt(range)};
  // `prompts =` with `- "Hello"` on the next line is a YAML list.
  const std::string_view before =
      evaluator.sources.text(range.source).substr(0, range.begin);
  const size_t sign = before.find_last_not_of(" \t\r\n");
  if (sign != before.npos && before[sign] == '=' &&
      before.find('\n', sign) != before.npos) {
    const std::string_view dashed = evaluator.sources.text(range).substr(1);
    const size_t begin = std::min(dashed.find_first_not_of(' '), dashed.size());
    const std::string own = "[" + std::string(dashed.substr(begin)) + "]";
    evaluator.messages
        .report(diag::Kind::WrongType, range,
                "a list is written in brackets, and not with dashes as in YAML")
        .help("write `" + own + "`")
        .fixIt(range, own);
    return poison();
  }
  evaluator.messages
      .report(diag::Kind::WrongType, range,
              "`-` does not take `" + typeNameOf(operand) + "`")
      .help("`-` takes numbers and quantities such as `2GiB`");
  return poison();
}

Value Operators::compare(ast::BinaryOp op, const Value& left,
                         const Value& right, SourceRange range) {
  recipe::Origin origin = evaluator.writtenAt(range);
  std::optional<int64_t> a = wholeOf(left), b = wholeOf(right);
  if (a && b)
    return {ordered(op, *a, *b), origin};
  std::optional<double> x = realOf(left), y = realOf(right);
  if (x && y)
    return {ordered(op, *x, *y), origin};
  const recipe::Quantity* p = left.get<recipe::Quantity>();
  const recipe::Quantity* q = right.get<recipe::Quantity>();
  if (p && q && p->unit == q->unit)
    return {ordered(op, p->amount, q->amount), origin};
  const std::string* s = left.get<std::string>();
  const std::string* t = right.get<std::string>();
  if (s && t)
    return {ordered(op, *s, *t), origin};
  return reportOperands(ast::spelling(op), left, right, range);
}

bool Operators::isEqual(const Value& left, const Value& right) {
  Limits::Level level(evaluator.limits);
  return evaluator.limits.takeStep(left.origin.range) && areEqual(left, right);
}

bool Operators::areEqual(const Value& left, const Value& right) {
  std::optional<double> x = realOf(left), y = realOf(right);
  if (x && y) {
    std::optional<int64_t> a = wholeOf(left), b = wholeOf(right);
    return a && b ? *a == *b : *x == *y;
  }
  if (left.data.index() != right.data.index())
    return false;
  if (const bool* value = left.get<bool>())
    return *value == *right.get<bool>();
  if (const std::string* value = left.get<std::string>())
    return evaluator.limits.takeSteps(int64_t(value->size() / bytesOfStep),
                                      left.origin.range) &&
           *value == *right.get<std::string>();
  if (auto* value = left.get<recipe::Quantity>())
    return *value == *right.get<recipe::Quantity>();
  if (const ListValue* const* value = left.get<const ListValue*>()) {
    const auto& a = (*value)->elements;
    const auto& b = (*right.get<const ListValue*>())->elements;
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](const Value& one, const Value& other) {
                        return isEqual(one, other);
                      });
  }
  if (Object* const* value = left.get<Object*>()) {
    Object& a = **value;
    Object& b = **right.get<Object*>();
    if (&a == &b)
      return true;
    if (a.schema != b.schema || a.slots.size() != b.slots.size())
      return false;
    for (Slot& slot : a.slots) {
      Slot* other = b.find(slot.name);
      if (!other || !isEqual(evaluator.objects.force(a, slot),
                             evaluator.objects.force(b, *other)))
        return false;
    }
    return true;
  }
  if (auto* value = left.get<Range>()) {
    auto* other = right.get<Range>();
    return value->begin == other->begin && value->end == other->end;
  }
  if (auto* value = left.get<const Function*>())
    return (*value)->declaration ==
           (*right.get<const Function*>())->declaration;
  return left.is<recipe::None>() || left.is<recipe::Auto>();
}

Value Operators::makeRange(const Value& left, const Value& right,
                           SourceRange range) {
  std::optional<int64_t> begin = wholeOf(left), end = wholeOf(right);
  if (begin && end)
    return {Range{*begin, *end}, evaluator.writtenAt(range)};
  return reportOperands("..", left, right, range);
}

// ---- results

Value Evaluator::makeList(std::vector<Value> elements, SourceRange range) {
  if (!limits.fitsElements(elements.size(), range) ||
      !limits.takeBytes(elements.size() * sizeof(Value), range))
    return poison();
  return {&std::as_const(store.make<ListValue>({std::move(elements)})),
          writtenAt(range)};
}

Value Evaluator::makeString(std::string text, SourceRange range) {
  if (!limits.fitsString(text.size(), range) ||
      !limits.takeBytes(text.size(), range))
    return poison();
  return {std::move(text), writtenAt(range)};
}

} // namespace recipec::sema
