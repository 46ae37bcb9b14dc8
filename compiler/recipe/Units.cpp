// The table of units.

#include "compiler/recipe/Units.h"

namespace recipec::recipe {
namespace {

constexpr UnitName table[] = {
    {"B", Unit::bytes, 1},        {"KB", Unit::bytes, 1e3},
    {"KiB", Unit::bytes, 0x1p10}, {"MB", Unit::bytes, 1e6},
    {"MiB", Unit::bytes, 0x1p20}, {"GB", Unit::bytes, 1e9},
    {"GiB", Unit::bytes, 0x1p30}, {"TB", Unit::bytes, 1e12},
    {"TiB", Unit::bytes, 0x1p40}, {"ms", Unit::seconds, 1e-3},
    {"s", Unit::seconds, 1},      {"min", Unit::seconds, 60},
    {"h", Unit::seconds, 3600},   {"d", Unit::seconds, 86400},
    {"step", Unit::steps, 1},     {"steps", Unit::steps, 1},
    {"epoch", Unit::epochs, 1},   {"epochs", Unit::epochs, 1},
    {"token", Unit::tokens, 1},   {"tokens", Unit::tokens, 1},
};

} // namespace

std::span<const UnitName> unitNames() {
  return table;
}

const UnitName* findUnit(std::string_view name) {
  for (const UnitName& unit : table)
    if (unit.name == name)
      return &unit;
  return nullptr;
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

bool isWhole(Unit unit) {
  return unit != Unit::seconds && unit != Unit::epochs;
}

} // namespace recipec::recipe
