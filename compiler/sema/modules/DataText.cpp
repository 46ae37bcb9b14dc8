// Converts strings of data files to values of the language; see DataText.h.

#include "compiler/sema/modules/DataText.h"

#include "compiler/recipe/Units.h"

#include <charconv>
#include <cmath>
#include <string>

namespace recipec::sema {
namespace {

struct Multiplier {
  std::string_view name;
  double factor;
};

constexpr Multiplier multipliers[] = {
    {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
};

} // namespace

std::optional<recipe::Quantity> quantityOf(std::string_view text) {
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number))
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  for (const Multiplier& multiplier : multipliers) {
    std::string_view name = multiplier.name;
    if (!text.starts_with(name) || text.substr(name.size(), 1) != " ")
      continue;
    number *= multiplier.factor;
    text.remove_prefix(name.size());
    break;
  }
  if (text.starts_with(' '))
    text.remove_prefix(1);
  const recipe::UnitName* unit = recipe::findUnit(text);
  if (!unit)
    return std::nullopt;
  return recipe::Quantity{number * unit->scale, unit->unit};
}

/// Whether a comma or blank stands before three digits: `100,000`.
static bool dividesGroups(std::string_view text, size_t at) {
  if (text[at] != ',' && text[at] != ' ')
    return false;
  size_t end = at + 1;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9')
    ++end;
  return end == at + 4;
}

std::optional<std::string> numberIn(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '_' && !dividesGroups(text, i))
      digits += text[i];
  double factor = 1;
  for (const Multiplier& multiplier : multipliers)
    if (digits.ends_with(multiplier.name)) {
      factor = multiplier.factor;
      digits.resize(digits.size() - multiplier.name.size());
      break;
    }
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end || digits == text ||
      double(number) * factor >= 0x1p53)
    return std::nullopt;
  return std::to_string(number * int64_t(factor));
}

} // namespace recipec::sema
