// Numbers between two bounds, as their decimal digits.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_NUMBERRANGE_H
#define RECIPERUN_GRAMMAR_SCHEMA_NUMBERRANGE_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Expression.h"

#include <optional>
#include <string>

namespace reciperun::grammar {

/// A number as decimal digits: `whole`.`fraction`.
struct Decimal {
  bool isNegative = false;
  std::string whole = "0"; // without leading zeros
  std::string fraction;    // without trailing zeros
};

/// Reads a JSON number. Fails when its digits are too many.
Expected<Decimal> parseDecimal(const std::string& number);

/// Whether the first number is less than the second.
bool isLess(const Decimal& first, const Decimal& second);

struct NumberBound {
  Decimal value;
  bool isExclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> least, most;
  bool isInteger = false;
};

/// Whether a number is within the bounds.
bool isWithin(const Decimal& value, const NumberRange& range);

/// The numbers of a range, written without an exponent; all that jsonInteger or
/// jsonNumber writes where the range has no bound. Nullptr when the range is
/// empty.
Expected<ExpressionPtr> numbersIn(const NumberRange& range);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_NUMBERRANGE_H
