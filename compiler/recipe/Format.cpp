// Values as text: numbers shortest, quantities in their largest whole unit.

#include "compiler/recipe/Format.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace recipec::recipe {
namespace {

struct UnitScale {
  double amount;
  const char* suffix;
};

constexpr UnitScale byteScales[] = {
    {0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
constexpr UnitScale timeScales[] = {
    {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}};

bool isWhole(double value) {
  return std::floor(value) == value && std::abs(value) < 0x1p53;
}

std::string formatNumber(double value) {
  if (isWhole(value))
    return std::to_string(int64_t(value));
  return formatReal(value);
}

template <size_t count>
std::string inLargestUnit(double amount, const UnitScale (&scales)[count],
                          const char* smallest) {
  for (const UnitScale& scale : scales)
    if (amount != 0 && isWhole(amount / scale.amount))
      return formatNumber(amount / scale.amount) + scale.suffix;
  return formatNumber(amount) + smallest;
}

/// Prints what a Value holds; one overload a kind.
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
      text += separator + name + " = " + std::visit(*this, value.data);
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
  switch (quantity.unit) {
  case Unit::bytes:
    return inLargestUnit(quantity.amount, byteScales, "B");
  case Unit::seconds:
    return inLargestUnit(quantity.amount, timeScales, "s");
  case Unit::steps:
    return formatNumber(quantity.amount) + " steps";
  case Unit::epochs:
    return formatNumber(quantity.amount) + " epochs";
  case Unit::tokens:
    return formatNumber(quantity.amount) + " tokens";
  }
  return {};
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

std::string_view unitTypeName(Unit unit) {
  switch (unit) {
  case Unit::bytes:
    return "bytes";
  case Unit::seconds:
    return "duration";
  case Unit::steps:
    return "steps";
  case Unit::epochs:
    return "epochs";
  case Unit::tokens:
    return "tokens";
  }
  return {};
}

} // namespace recipec::recipe
