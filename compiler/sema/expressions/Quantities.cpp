// Numbers with units.
//
// Quantities of the same unit can be added and compared. A number scales a
// quantity, and dividing two quantities gives a number. A result keeps the
// written unit of its left quantity for printing. Amounts are stored in the
// base unit, so that 1GiB equals 1024MiB. Bytes are rounded to integers. Steps
// and tokens keep a fraction, which a field rejects, so that
// `floor(500 steps / 3)` can drop it.

#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/Arithmetic.h"

#include <algorithm>
#include <cmath>

namespace recipec::sema {
namespace {

/// A count within this distance of an integer is that integer:
/// `7% * 100 steps`.
constexpr double countTolerance = 1e-9;
/// Larger amounts do not fit 64 bits.
constexpr double maxAmount = 0x1p63;

std::optional<double> numberOf(const Value& value) {
  if (const int64_t* whole = value.get<int64_t>())
    return double(*whole);
  if (const DimRef* dim = value.get<DimRef>())
    return double(dim->size);
  if (const double* real = value.get<double>())
    return *real;
  return std::nullopt;
}

double cleaned(double amount, recipe::Unit unit) {
  double whole = std::round(amount);
  bool isNear = std::abs(amount - whole) <=
                countTolerance * std::max(1.0, std::abs(amount));
  bool isByte = unit == recipe::Unit::bytes;
  return isByte || (recipe::isWhole(unit) && isNear) ? whole : amount;
}

} // namespace

double realArithmetic(ast::BinaryOp op, double left, double right) {
  switch (op) {
  case ast::BinaryOp::add:
    return left + right;
  case ast::BinaryOp::subtract:
    return left - right;
  case ast::BinaryOp::multiply:
    return left * right;
  case ast::BinaryOp::divide:
    return left / right;
  default:
    return std::fmod(left, right);
  }
}

Value Evaluator::makeReal(double value, SourceRange range) {
  if (std::isfinite(value))
    return {value, writtenAt(range)};
  messages
      .report(diag::Kind::InvalidValue, range,
              "the result does not fit a `float`")
      .help("a `float` is at most 1.8e308: compute with smaller numbers");
  return poison();
}

Value Evaluator::makeQuantity(recipe::Quantity quantity, SourceRange range) {
  quantity.amount = cleaned(quantity.amount, quantity.unit);
  if (std::abs(quantity.amount) < maxAmount)
    return {quantity, writtenAt(range)};
  messages
      .report(diag::Kind::InvalidValue, range,
              "this is more " +
                  std::string(recipe::unitTypeName(quantity.unit)) +
                  " than 64 bits count")
      .help("the most is 9.2e18: write a smaller number");
  return poison();
}

bool Operators::mixesUnits(const Value& left, const Value& right) {
  auto* a = left.get<recipe::Quantity>();
  auto* b = right.get<recipe::Quantity>();
  if (a && b)
    return a->unit != b->unit;
  return (a && right.isNumber()) || (b && left.isNumber());
}

std::optional<Value> Operators::quantityArithmetic(ast::BinaryOp op,
                                                   const Value& left,
                                                   const Value& right,
                                                   SourceRange range) {
  const recipe::Quantity* a = left.get<recipe::Quantity>();
  const recipe::Quantity* b = right.get<recipe::Quantity>();
  if (a && b) {
    if (a->unit != b->unit || op == ast::BinaryOp::multiply)
      return std::nullopt;
    double result = realArithmetic(op, a->amount, b->amount);
    if (op != ast::BinaryOp::divide)
      return evaluator.makeQuantity({result, a->unit, a->written}, range);
    bool isWhole = std::floor(result) == result && std::abs(result) < 0x1p53;
    return isWhole ? Value{int64_t(result), evaluator.writtenAt(range)}
                   : evaluator.makeReal(result, range);
  }
  std::optional<double> number = numberOf(a ? right : left);
  bool isScaling =
      op == ast::BinaryOp::multiply || (op == ast::BinaryOp::divide && a);
  if (!number || !isScaling)
    return std::nullopt;
  recipe::Quantity result = a ? *a : *b;
  result.amount = realArithmetic(op, result.amount, *number);
  return evaluator.makeQuantity(result, range);
}

} // namespace recipec::sema
