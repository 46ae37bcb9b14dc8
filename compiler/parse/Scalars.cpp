// YAML plain scalars; see Scalars.h.

#include "compiler/parse/Scalars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace recipec::parse {
namespace {

using Which = ast::KeywordLiteral::Which;

struct Word {
  std::string_view text;
  Which which;
};

constexpr Word words[] = {
    {"null", Which::none},        {"Null", Which::none},
    {"NULL", Which::none},        {"~", Which::none},
    {"true", Which::trueValue},   {"True", Which::trueValue},
    {"TRUE", Which::trueValue},   {"false", Which::falseValue},
    {"False", Which::falseValue}, {"FALSE", Which::falseValue},
};

constexpr std::string_view notFinite[] = {
    ".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
    "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN",
};

/// Removes leading digits. Returns whether there were any.
bool takeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9')
    ++count;
  text.remove_prefix(count);
  return count > 0;
}

bool takeSign(std::string_view& text) {
  bool isThere = text.starts_with('+') || text.starts_with('-');
  text.remove_prefix(isThere ? 1 : 0);
  return isThere;
}

/// `[-+]? [0-9]+`
bool isDecimal(std::string_view text) {
  takeSign(text);
  return takeDigits(text) && text.empty();
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
bool isReal(std::string_view text) {
  takeSign(text);
  bool hasWhole = takeDigits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!takeDigits(text) && !hasWhole)
      return false;
  } else if (!hasWhole) {
    return false;
  }
  if (!text.starts_with('e') && !text.starts_with('E'))
    return text.empty();
  text.remove_prefix(1);
  takeSign(text);
  return takeDigits(text) && text.empty();
}

bool areDigits(std::string_view text, std::string_view digits) {
  return !text.empty() &&
         text.find_first_not_of(digits) == std::string_view::npos;
}

std::optional<Scalar> integer(std::string_view text, int base) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc())
    return std::nullopt;
  return ast::IntLiteral{value};
}

} // namespace

std::optional<Scalar> plainScalar(const std::string& text) {
  for (const Word& word : words)
    if (word.text == text)
      return ast::KeywordLiteral{word.which};
  if (std::find(std::begin(notFinite), std::end(notFinite), text) !=
      std::end(notFinite))
    return std::nullopt;
  if (isDecimal(text))
    return integer(text, 10);
  std::string_view digits =
      std::string_view(text).substr(std::min<size_t>(text.size(), 2));
  if (text.starts_with("0o") && areDigits(digits, "01234567"))
    return integer(digits, 8);
  if (text.starts_with("0x") && areDigits(digits, "0123456789abcdefABCDEF"))
    return integer(digits, 16);
  if (!isReal(text))
    return ast::StringLiteral{{text}, {}};
  double value = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(value))
    return std::nullopt;
  return ast::FloatLiteral{value};
}

} // namespace recipec::parse
