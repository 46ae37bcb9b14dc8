// Built-in functions for numbers and quantities.
//
// An `int` stays exact. A result that does not fit an `int`, or is no finite
// `float`, is reported. Rounding turns a number into an `int`, and a quantity
// into a whole number of its unit.

#include "compiler/recipe/Format.h"
#include "compiler/sema/builtins/BuiltinHandlers.h"
#include "compiler/sema/builtins/Builtins.h"
#include "compiler/sema/types/Mismatch.h"

#include <charconv>
#include <cmath>

namespace recipec::sema {
namespace {

Value reportOverflow(const BuiltinCall& call) {
  call.evaluator.messages
      .report(diag::Kind::InvalidValue, call.range,
              "the result does not fit an `int` of 64 bits")
      .help("write a smaller number, or a `float` such as `1e20`");
  return {};
}

Value makeInteger(const BuiltinCall& call, double value) {
  if (std::abs(value) < 0x1p63)
    return {int64_t(value), call.origin()};
  return reportOverflow(call);
}

// ---- the least and the greatest

bool isAmount(const Value& value) {
  return value.isNumber() || value.is<recipe::Quantity>();
}

/// The values to compare: the arguments, or the elements of a single list.
std::optional<std::vector<Value>> candidates(BuiltinCall& call) {
  const Value& first = call.arguments[0];
  if (call.count() > 1)
    return call.arguments;
  bool isList = first.is<const ListValue*>() || first.is<Range>();
  if (isList) {
    auto elements = call.evaluator.elementsOf(first, call.places[0]);
    bool fits = elements && call.evaluator.limits.takeSteps(
                                int64_t(elements->size()), call.range);
    return fits ? elements : std::nullopt;
  }
  call.evaluator.messages
      .report(diag::Kind::MissingArgument, call.range,
              call.name() + " takes a list, or two arguments or more")
      .label(call.places[0], "this is of type `" +
                                 fullTypeNameOf(call.evaluator.sources, first) +
                                 "`")
      .help("give it a list, as in `" + std::string(call.function.name) +
            "([1, 2])`");
  return std::nullopt;
}

Value extreme(BuiltinCall& call, ast::BinaryOp better) {
  Evaluator& evaluator = call.evaluator;
  std::optional<std::vector<Value>> values = candidates(call);
  if (!values)
    return {};
  if (values->empty()) {
    call.reportValue(0, "there is no " + call.name() + " of an empty list")
        .help("add an element to the list, as in `" +
              std::string(call.function.name) + "(xs + [0])`");
    return {};
  }
  Value best = values->front();
  for (const Value& value : *values) {
    if (!isAmount(value) || !isAmount(best) ||
        Operators::mixesUnits(best, value))
      return evaluator.operators.reportOperands(call.function.name, best, value,
                                                call.range);
    Value isBetter =
        evaluator.operators.compare(better, value, best, call.range);
    if (const bool* decided = isBetter.get<bool>(); decided && *decided)
      best = value;
  }
  best.origin = call.origin();
  return best;
}

// ---- rounding

/// The scale of the unit in which the quantity is written.
double scaleOf(const recipe::Quantity& quantity) {
  return quantity.written ? quantity.written->scale : 1;
}

Value rounded(BuiltinCall& call, double (*round)(double)) {
  const Value& value = call.arguments[0];
  if (value.is<int64_t>())
    return {call.integer(0), call.origin()};
  if (auto* quantity = value.get<recipe::Quantity>()) {
    recipe::Quantity result = *quantity;
    double scale = scaleOf(result);
    result.amount = round(result.amount / scale) * scale;
    return {result, call.origin()};
  }
  return makeInteger(call, round(call.real(0)));
}

double floorOf(double value) {
  return std::floor(value);
}
double ceilOf(double value) {
  return std::ceil(value);
}
double roundOf(double value) {
  return std::round(value);
}

/// The exact power, or nullopt when it does not fit.
std::optional<int64_t> wholePower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (true) {
    if (exponent % 2 && __builtin_mul_overflow(result, base, &result))
      return std::nullopt;
    exponent /= 2;
    if (exponent == 0)
      return result;
    if (__builtin_mul_overflow(base, base, &base))
      return std::nullopt;
  }
}

template <class Number> std::optional<Number> parsed(const std::string& text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end)
    return std::nullopt;
  return number;
}

Value reportUnread(BuiltinCall& call, const char* what) {
  call.reportValue(0, recipe::formatString(call.text(0)) + " is not " + what)
      .help("write the digits alone, as in `" +
            std::string(call.function.name) + "(\"128\")`");
  return {};
}

Value reportUnconverted(BuiltinCall& call, const char* takes) {
  call.reportType(0, takes);
  return {};
}

} // namespace

Value runMin(BuiltinCall& call) {
  return extreme(call, ast::BinaryOp::less);
}

Value runMax(BuiltinCall& call) {
  return extreme(call, ast::BinaryOp::greater);
}

Value runAbs(BuiltinCall& call) {
  const Value& value = call.arguments[0];
  if (const int64_t* whole = value.get<int64_t>()) {
    if (*whole == INT64_MIN)
      return reportOverflow(call);
    return {std::abs(*whole), call.origin()};
  }
  if (const DimRef* dim = value.get<DimRef>())
    return {dim->size, call.origin()};
  if (auto* quantity = value.get<recipe::Quantity>()) {
    recipe::Quantity result = *quantity;
    result.amount = std::abs(result.amount);
    return {result, call.origin()};
  }
  return {std::abs(call.real(0)), call.origin()};
}

Value runFloor(BuiltinCall& call) {
  return rounded(call, floorOf);
}

Value runCeil(BuiltinCall& call) {
  return rounded(call, ceilOf);
}

Value runRound(BuiltinCall& call) {
  return rounded(call, roundOf);
}

Value runSqrt(BuiltinCall& call) {
  if (call.real(0) >= 0)
    return {std::sqrt(call.real(0)), call.origin()};
  call.reportValue(0, "a negative number has no square root")
      .help("write a number of 0 or more, or `abs(...)` around it");
  return {};
}

Value runExp(BuiltinCall& call) {
  return call.evaluator.makeReal(std::exp(call.real(0)), call.range);
}

Value runLog(BuiltinCall& call) {
  for (size_t i = 0; i < call.count(); ++i)
    if (call.real(i) <= 0) {
      call.reportValue(i, "`log` takes numbers above 0, and this is " +
                              describe(call.evaluator, call.arguments[i]))
          .help("write a number above 0");
      return {};
    }
  double value = call.real(0);
  if (call.count() == 1)
    return {std::log(value), call.origin()};
  double base = call.real(1);
  if (base == 1) {
    call.reportValue(1, "there is no logarithm to the base 1")
        .help("write another base, `2` or `10`, say");
    return {};
  }
  // log2 and log10 are exact for powers of their base.
  if (base == 2)
    return {std::log2(value), call.origin()};
  if (base == 10)
    return {std::log10(value), call.origin()};
  return call.evaluator.makeReal(std::log(value) / std::log(base), call.range);
}

Value runPow(BuiltinCall& call) {
  double base = call.real(0), exponent = call.real(1);
  bool isWhole = !call.arguments[0].is<double>() &&
                 !call.arguments[1].is<double>() && exponent >= 0;
  if (isWhole) {
    auto wholeOf = [&](size_t i) {
      const int64_t* whole = call.arguments[i].get<int64_t>();
      return whole ? *whole : call.arguments[i].get<DimRef>()->size;
    };
    std::optional<int64_t> result = wholePower(wholeOf(0), wholeOf(1));
    return result ? Value{*result, call.origin()} : reportOverflow(call);
  }
  if (base == 0 && exponent < 0) {
    call.reportValue(1, "0 has no negative powers")
        .help("write an exponent of 0 or more");
    return {};
  }
  if (base < 0 && std::floor(exponent) != exponent) {
    call.reportValue(0, "a negative number has no power of " +
                            recipe::formatReal(exponent))
        .help("write a base of 0 or more, or a whole exponent");
    return {};
  }
  return call.evaluator.makeReal(std::pow(base, exponent), call.range);
}

Value runInt(BuiltinCall& call) {
  const Value& value = call.arguments[0];
  if (value.is<std::string>()) {
    std::optional<int64_t> number = parsed<int64_t>(call.text(0));
    return number ? Value{*number, call.origin()}
                  : reportUnread(call, "a whole number of decimal digits");
  }
  if (const int64_t* whole = value.get<int64_t>())
    return {*whole, call.origin()};
  if (const DimRef* dim = value.get<DimRef>())
    return {dim->size, call.origin()};
  const double* real = value.get<double>();
  if (!real)
    return reportUnconverted(call, "a number or a string");
  if (std::floor(*real) == *real)
    return makeInteger(call, *real);
  call.reportValue(0, recipe::formatReal(*real) + " is not whole")
      .help("round it with `floor`, `round` or `ceil`");
  return {};
}

Value runFloat(BuiltinCall& call) {
  const Value& value = call.arguments[0];
  if (value.is<std::string>()) {
    std::optional<double> number = parsed<double>(call.text(0));
    return number && std::isfinite(*number) ? Value{*number, call.origin()}
                                            : reportUnread(call, "a number");
  }
  if (value.isNumber())
    return {call.real(0), call.origin()};
  return reportUnconverted(call, "a number or a string");
}

} // namespace recipec::sema
