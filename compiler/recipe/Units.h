// The units of the language: names, kinds and sizes.

#ifndef RECIPEC_RECIPE_UNITS_H
#define RECIPEC_RECIPE_UNITS_H

#include "compiler/recipe/Recipe.h"

#include <span>
#include <string_view>

namespace recipec::recipe {

/// A unit as it is written after a number.
struct UnitName {
  std::string_view name; // `GiB`, `min`, `steps`
  Unit unit;
  double scale; // in base units: bytes, seconds, steps, ...
};

/// All units, grouped by kind, smallest first.
std::span<const UnitName> unitNames();

/// The unit with this name, or nullptr.
const UnitName* findUnit(std::string_view name);

/// The type of quantities in a unit, as the language names it: `bytes`,
/// `duration`, `steps`, `epochs`, `tokens`.
std::string_view unitTypeName(Unit unit);

/// Whether amounts must be whole: bytes, steps and tokens. Epochs and durations
/// may have fractions.
bool isWhole(Unit unit);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_UNITS_H
