// Values as text: numbers in their shortest form, quantities in their written
// unit.

#include "compiler/recipe/Format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace recipec::recipe {
namespace {

bool isWholeNumber(double value) {
  return std::floor(value) == value && std::abs(value) < 0x1p53;
}

std::string formatNumber(double value) {
  if (isWholeNumber(value))
    return std::to_string(int64_t(value));
  return formatReal(value);
}

/// `80GiB`, `1 step`. Units that count something (steps, epochs, tokens) follow
/// a space, with a plural.
std::string inUnit(double amount, const UnitName& unit) {
  double number = amount / unit.scale;
  bool isCount = unit.unit == Unit::steps || unit.unit == Unit::epochs ||
                 unit.unit == Unit::tokens;
  if (!isCount)
    return formatNumber(number) + std::string(unit.name);
  std::string name(unitTypeName(unit.unit));
  if (number == 1)
    name.pop_back();
  return formatNumber(number) + " " + name;
}

bool isShort(double number) {
  double scaled = number * 1e4;
  return isWholeNumber(scaled) && scaled / 1e4 == number;
}

/// The largest unit that gives a whole number. Decimal byte units are not
/// chosen, only kept if the user wrote them.
const UnitName& unitFor(Quantity quantity) {
  const UnitName* best = nullptr;
  const UnitName* base = nullptr;
  for (const UnitName& unit : unitNames()) {
    if (unit.unit != quantity.unit)
      continue;
    if (unit.scale == 1)
      base = &unit;
    bool isDecimal = unit.unit == Unit::bytes && unit.scale != 1 &&
                     unit.name.find('i') == std::string_view::npos;
    if (!isDecimal && isWholeNumber(quantity.amount / unit.scale))
      best = &unit;
  }
  return best && quantity.amount != 0 ? *best : *base;
}

/// The words that cannot be names, as in grammar/Recipe.g4.
constexpr std::string_view reservedWords[] = {
    "and", "auto", "block", "else", "false",   "fixed",
    "for", "fun",  "if",    "in",   "let",     "none",
    "not", "or",   "then",  "true", "require", "return"};

bool isName(std::string_view text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (text.empty() || !isLetter(text[0]))
    return false;
  for (char c : text)
    if (!isLetter(c) && !(c >= '0' && c <= '9'))
      return false;
  return std::find(std::begin(reservedWords), std::end(reservedWords), text) ==
         std::end(reservedWords);
}

/// Prints the data of a Value, one overload per alternative.
class ValuePrinter {
public:
  explicit ValuePrinter(const std::vector<Dim>& dims) : dims(dims) {}

  std::string operator()(None) const { return "none"; }
  std::string operator()(Auto) const { return "auto"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return formatReal(value); }
  std::string operator()(const std::string& value) const {
    return formatString(value);
  }
  std::string operator()(Quantity value) const { return formatQuantity(value); }
  std::string operator()(DimValue value) const { return nameOf(value.dim); }
  std::string operator()(const DimsMapping& mapping) const {
    return side(mapping.from) + " -> " + side(mapping.to);
  }
  std::string operator()(const FunctionName& function) const {
    return function.name;
  }
  std::string operator()(const List& list) const {
    std::string text = "[";
    for (const Value& element : list) {
      if (text.size() > 1)
        text += ", ";
      text += std::visit(*this, element.data);
    }
    return text + "]";
  }
  std::string operator()(const Record& record) const {
    std::string text = record.schema.empty() ? "{" : record.schema + " {";
    const char* separator = " ";
    for (const auto& [name, value] : record.fields) {
      text +=
          separator + formatKey(name) + " = " + std::visit(*this, value.data);
      separator = ", ";
    }
    return text + (record.fields.empty() ? "}" : " }");
  }

private:
  std::string nameOf(DimId dim) const {
    size_t index = size_t(dim);
    return index < dims.size() ? dims[index].name : "?";
  }
  std::string side(const std::vector<DimId>& side) const {
    if (side.size() == 1)
      return nameOf(side[0]);
    std::string text = "[";
    for (DimId dim : side)
      text += (text.size() > 1 ? ", " : "") + nameOf(dim);
    return text + "]";
  }

  const std::vector<Dim>& dims;
};

} // namespace

std::string formatReal(double value) {
  char buffer[64];
  double size = std::abs(value);
  bool isPlain = size >= 1e-4 && size < 1e9;
  auto [end, error] = isPlain ? std::to_chars(buffer, std::end(buffer), value,
                                              std::chars_format::fixed)
                              : std::to_chars(buffer, std::end(buffer), value);
  std::string text(buffer, end);
  bool looksWhole = text.find_first_of(".en") == std::string::npos;
  return looksWhole ? text + ".0" : text;
}

std::string formatQuantity(Quantity quantity) {
  bool isAsWritten =
      quantity.written && isShort(quantity.amount / quantity.written->scale);
  return inUnit(quantity.amount,
                isAsWritten ? *quantity.written : unitFor(quantity));
}

std::string formatKey(std::string_view key) {
  return isName(key) ? std::string(key) : "[" + formatString(key) + "]";
}

std::string formatBytes(int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = double(bytes);
  size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < std::size(units); ++unit)
    amount /= 1024;
  int decimals = unit == 0 || amount >= 100 ? 0 : amount >= 10 ? 1 : 2;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, amount, units[unit]);
  return text;
}

std::string formatString(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    switch (c) {
    case '\n':
      quoted += "\\n";
      break;
    case '\t':
      quoted += "\\t";
      break;
    case '\r':
      quoted += "\\r";
      break;
    case '"':
    case '\\':
    case '{':
      quoted += '\\';
      [[fallthrough]];
    default:
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string formatValue(const Value& value, const std::vector<Dim>& dims) {
  return std::visit(ValuePrinter(dims), value.data);
}

std::string formatOrigin(const Origin& origin, const SourceMap& sources) {
  switch (origin.kind) {
  case Origin::Kind::written:
    return sources.describe(origin.range);
  case Origin::Kind::defaultValue:
    return "default";
  case Origin::Kind::commandLine:
    return std::string(sources.name(origin.range.source)) + " " +
           std::string(sources.text(origin.range.source));
  case Origin::Kind::derived:
    return "derived at " + sources.describe(origin.range);
  }
  return {};
}

} // namespace recipec::recipe
