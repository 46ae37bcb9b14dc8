// Two numbers without leading zeros compare by the number of their whole
// digits, then digit by digit, then by the digits of the fraction. The numbers
// that are at least (or at most) a bound are therefore a choice over the first
// digit that differs. The numbers of a range are the intersection of two such
// languages and of the numbers with few enough digits. Negative numbers are a
// `-` and a number of the mirrored range.

#include "runtime/grammar/schema/NumberRange.h"

#include "runtime/grammar/MachineBuilder.h"
#include "runtime/grammar/schema/JsonText.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace reciperun::grammar {
namespace {

/// The most whole digits of a bound that is compared by its digits. All numbers
/// that the grammar writes are smaller than a longer bound.
constexpr size_t longestWhole = size_t(maxWholeDigits) + 2;
constexpr size_t longestFraction = 30;
constexpr int largestExponent = 400;

ExpressionPtr digit() {
  return characterIn("09");
}
ExpressionPtr digits(int64_t least, std::optional<int64_t> most) {
  return repeat(digit(), least, most);
}
ExpressionPtr digitIn(char low, char high) {
  return characterIn(std::string{low, high});
}
ExpressionPtr anyFraction() {
  return optional(sequence({literal("."), digits(1, std::nullopt)}));
}
/// Digits that are not all zero.
ExpressionPtr positiveDigits() {
  return sequence({repeat(literal("0"), 0, std::nullopt), digitIn('1', '9'),
                   digits(0, std::nullopt)});
}

/// Adds the numbers with as many whole digits as `whole` whose first different
/// digit is greater (smaller), each with any fraction.
void addSameLength(const std::string& whole, bool isGreater,
                   std::vector<ExpressionPtr>& out) {
  for (size_t k = 0; k < whole.size(); ++k) {
    const char lowest = k == 0 && whole.size() > 1 ? '1' : '0';
    if (whole[k] == (isGreater ? '9' : lowest))
      continue;
    const int64_t rest = int64_t(whole.size() - k) - 1;
    out.push_back(sequence({literal(whole.substr(0, k)),
                            isGreater ? digitIn(char(whole[k] + 1), '9')
                                      : digitIn(lowest, char(whole[k] - 1)),
                            digits(rest, rest), anyFraction()}));
  }
}

/// Fractions, with their point, whose value is at least that of `fraction`.
ExpressionPtr fractionAtLeast(const std::string& fraction, bool isExclusive) {
  if (fraction.empty())
    return isExclusive ? sequence({literal("."), positiveDigits()})
                       : anyFraction();
  std::vector<ExpressionPtr> cases = {
      sequence({literal("." + fraction),
                isExclusive ? positiveDigits() : digits(0, std::nullopt)})};
  for (size_t k = 0; k < fraction.size(); ++k)
    if (fraction[k] < '9')
      cases.push_back(sequence({literal("." + fraction.substr(0, k)),
                                digitIn(char(fraction[k] + 1), '9'),
                                digits(0, std::nullopt)}));
  return choice(std::move(cases));
}

/// Fractions, with their point or absent, whose value is at most that of
/// `fraction`.
ExpressionPtr fractionAtMost(const std::string& fraction, bool isExclusive) {
  const ExpressionPtr zeros = repeat(literal("0"), 0, std::nullopt);
  std::vector<ExpressionPtr> cases;
  if (fraction.empty() && !isExclusive)
    cases.push_back(optional(sequence({literal("."), literal("0"), zeros})));
  if (!fraction.empty()) {
    cases.push_back(literal(""));
    if (!isExclusive)
      cases.push_back(sequence({literal("." + fraction), zeros}));
  }
  for (size_t k = 0; k < fraction.size(); ++k) {
    const std::string before = "." + fraction.substr(0, k);
    if (k > 0)
      cases.push_back(literal(before));
    if (fraction[k] > '0')
      cases.push_back(
          sequence({literal(before), digitIn('0', char(fraction[k] - 1)),
                    digits(0, std::nullopt)}));
  }
  return choice(std::move(cases));
}

/// Unsigned numbers that are at least the magnitude of the bound.
ExpressionPtr magnitudeAtLeast(const NumberBound& bound) {
  const std::string& whole = bound.value.whole;
  if (whole.size() > longestWhole)
    return nothing();
  std::vector<ExpressionPtr> cases = {
      sequence({digitIn('1', '9'), digits(int64_t(whole.size()), std::nullopt),
                anyFraction()}),
      sequence({literal(whole),
                fractionAtLeast(bound.value.fraction, bound.isExclusive)})};
  addSameLength(whole, /*isGreater=*/true, cases);
  return choice(std::move(cases));
}

ExpressionPtr magnitudeAtMost(const NumberBound& bound) {
  const std::string& whole = bound.value.whole;
  if (whole.size() > longestWhole)
    return sequence({digits(1, std::nullopt), anyFraction()});
  std::vector<ExpressionPtr> cases = {
      sequence({literal(whole),
                fractionAtMost(bound.value.fraction, bound.isExclusive)})};
  if (whole.size() > 1) {
    cases.push_back(sequence({literal("0"), anyFraction()}));
    cases.push_back(
        sequence({digitIn('1', '9'), digits(0, int64_t(whole.size()) - 2),
                  anyFraction()}));
  }
  addSameLength(whole, /*isGreater=*/false, cases);
  return choice(std::move(cases));
}

/// Numbers without a sign whose magnitude is between two bounds; null when
/// there are none.
Expected<ExpressionPtr> magnitudes(const std::optional<NumberBound>& least,
                                   const std::optional<NumberBound>& most,
                                   bool isInteger) {
  ExpressionPtr form =
      choice({literal("0"),
              sequence({digitIn('1', '9'), digits(0, maxWholeDigits - 1)})});
  if (!isInteger)
    form = sequence({form, optional(sequence(
                               {literal("."), digits(1, maxFractionDigits)}))});
  Expected<Machine> made = machineOf(form);
  RECIPERUN_TRY(made);
  auto restrict = [&](const ExpressionPtr& to) -> Status {
    Expected<Machine> other = machineOf(to);
    RECIPERUN_TRY(other);
    made = intersect(*made, *other);
    return made.status();
  };
  if (least)
    RECIPERUN_TRY(restrict(magnitudeAtLeast(*least)));
  if (most)
    RECIPERUN_TRY(restrict(magnitudeAtMost(*most)));
  if (!acceptsAny(*made))
    return ExpressionPtr();
  return regular(std::make_shared<const Machine>(std::move(*made)));
}

bool isZero(const Decimal& value) {
  return value.whole == "0" && value.fraction.empty();
}

} // namespace

Expected<Decimal> parseDecimal(const std::string& number) {
  Decimal made;
  std::string_view text = number;
  if (text.starts_with('-')) {
    made.isNegative = true;
    text.remove_prefix(1);
  }
  int exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != text.npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+'))
      power.remove_prefix(1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string all(text.substr(0, point));
  int64_t before = int64_t(all.size()) + exponent; // digits before the point
  if (point < text.size())
    all += text.substr(point + 1);
  if (std::abs(exponent) > largestExponent)
    return Status::error("the number `" + number + "` is too long");
  if (before < 0)
    all.insert(0, size_t(-before), '0');
  before = std::max<int64_t>(before, 0);
  if (all.size() < size_t(before))
    all.append(size_t(before) - all.size(), '0');
  made.whole = all.substr(0, size_t(before));
  made.fraction = all.substr(size_t(before));
  made.whole.erase(
      0, std::min(made.whole.find_first_not_of('0'), made.whole.size()));
  if (made.whole.empty())
    made.whole = "0";
  made.fraction.erase(made.fraction.find_last_not_of('0') + 1);
  if (made.fraction.size() > longestFraction)
    return Status::error("the number `" + number + "` has more than " +
                         std::to_string(longestFraction) +
                         " digits behind the point");
  if (isZero(made))
    made.isNegative = false;
  return made;
}

bool isLess(const Decimal& first, const Decimal& second) {
  if (first.isNegative != second.isNegative)
    return first.isNegative;
  auto isSmaller = [](const Decimal& x, const Decimal& y) {
    return std::make_tuple(x.whole.size(), x.whole, x.fraction) <
           std::make_tuple(y.whole.size(), y.whole, y.fraction);
  };
  return first.isNegative ? isSmaller(second, first) : isSmaller(first, second);
}

bool isWithin(const Decimal& value, const NumberRange& range) {
  auto isAbove = [&](const NumberBound& bound) {
    return isLess(bound.value, value) ||
           (!bound.isExclusive && !isLess(value, bound.value));
  };
  auto isBelow = [&](const NumberBound& bound) {
    return isLess(value, bound.value) ||
           (!bound.isExclusive && !isLess(bound.value, value));
  };
  return (!range.least || isAbove(*range.least)) &&
         (!range.most || isBelow(*range.most));
}

Expected<ExpressionPtr> numbersIn(const NumberRange& range) {
  if (!range.least && !range.most)
    return range.isInteger ? jsonInteger() : jsonNumber();
  std::vector<ExpressionPtr> cases;
  const bool isLeastNegative = !range.least || range.least->value.isNegative;
  const bool isMostNegative = range.most && range.most->value.isNegative;
  if (!isMostNegative) {
    Expected<ExpressionPtr> positive =
        magnitudes(isLeastNegative ? std::nullopt : range.least, range.most,
                   range.isInteger);
    RECIPERUN_TRY(positive);
    if (*positive)
      cases.push_back(*positive);
  }
  if (isLeastNegative) {
    // There is no -0.
    const NumberBound least =
        isMostNegative ? *range.most : NumberBound{Decimal(), true};
    Expected<ExpressionPtr> negative =
        magnitudes(least, range.least, range.isInteger);
    RECIPERUN_TRY(negative);
    if (*negative)
      cases.push_back(sequence({literal("-"), *negative}));
  }
  if (cases.empty())
    return ExpressionPtr();
  return choice(std::move(cases));
}

} // namespace reciperun::grammar
